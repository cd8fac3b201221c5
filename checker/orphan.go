package checker

import (
	"regexp"
	"strconv"
	"strings"
)

// ourName is the name of a data file that this program wrote: part-<n>-<owner>-<batch>-<attempt>.<codec>.parquet, or opt-... by optimize.
var ourName = regexp.MustCompile(`^(?:part|opt)-\d{5,}-([0-9a-f]{16})-(\d{1,18})-([0-9a-f]+)\.`)

func orphanOf(key string, rejected bool) OrphanFile {
	f := OrphanFile{Rejected: rejected, Key: key, Batch: -1}
	if m := ourName.FindStringSubmatch(key[strings.LastIndexByte(key, '/')+1:]); m != nil {
		f.Owner, f.Attempt = m[1], m[3]
		f.Batch, _ = strconv.ParseInt(m[2], 10, 64) // at most 18 digits
	}
	return f
}

// isData reports whether a key is that of a data file: Parquet, and not below a hidden folder. Folders of partitions have a "=" and are never hidden.
func isData(key string) bool {
	if !strings.HasSuffix(key, ".parquet") {
		return false
	}
	for part := range strings.SplitSeq(key, "/") {
		if strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") && !strings.Contains(part, "=") {
			return false
		}
	}
	return true
}
