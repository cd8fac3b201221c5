package files

import (
	"strconv"
	"strings"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

// parseOffset reads {"logOffset":n}, the number of the last entry before the offset; -1 for the beginning.
func parseOffset(o ident.Offset) (int64, error) {
	if o == "" {
		return -1, nil
	}
	digits, found := strings.CutPrefix(string(o), `{"logOffset":`)
	digits, closed := strings.CutSuffix(digits, "}")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !found || !closed || err != nil || n < -1 || formatOffset(n) != o {
		return 0, errcode.OffsetForeign.New("", `files: offset %.60q is not of the form {"logOffset":12}`, o)
	}
	return n, nil
}

func formatOffset(n int64) ident.Offset {
	return ident.Offset(`{"logOffset":` + strconv.FormatInt(n, 10) + "}")
}
