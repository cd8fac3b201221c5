package checker

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// entry is an entry of offsets/, as far as it matters here.
type entry struct {
	ends   []string          // a line per source; "" for none
	conf   map[string]string // of Spark and ours
	writer string            // conf microbatch.entry: <epoch>.<run>; "" if another program wrote it
}

// recordedFirst reports whether the batch is recorded before its rows are committed, so that a crash in between loses it (conf microbatch.delivery: at_most_once).
func (e *entry) recordedFirst() bool {
	return e != nil && e.conf["microbatch.delivery"] == "at_most_once"
}

// parseEntry reads the text of offsets/<id>: v1 or v2, a line of settings, and a line for each source.
func parseEntry(text string) (*entry, error) {
	lines := strings.Split(text, "\n")
	if lines[0] != "v1" && lines[0] != "v2" {
		return nil, fmt.Errorf("its first line is %.20q, not v1 or v2", lines[0])
	}
	if len(lines) < 3 {
		return nil, fmt.Errorf("it ends after line %d", len(lines))
	}
	e := &entry{}
	if lines[1] != "" {
		var meta struct {
			Conf map[string]string `json:"conf"`
		}
		if err := json.Unmarshal([]byte(lines[1]), &meta); err != nil {
			return nil, fmt.Errorf("line 2: %w", err)
		}
		e.conf, e.writer = meta.Conf, meta.Conf["microbatch.entry"]
	}
	for n, end := range lines[2:] {
		if lines[0] == "v2" {
			_, end, _ = strings.Cut(end, ":")
		}
		switch {
		case end == "-":
			end = ""
		case !json.Valid([]byte(end)):
			return nil, fmt.Errorf("line %d is no offset: %.40q", n+3, end)
		}
		e.ends = append(e.ends, end)
	}
	return e, nil
}

// epochOf is the epoch of an entry id <epoch>.<run>; -1 if it is none.
func epochOf(id string) int64 {
	number, _, _ := strings.Cut(id, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// positions are the numbers in an offset by their place in it: {"orders":{"0":5}} holds orders/0 = 5. ok is false if it holds anything that does not grow.
func positions(offset string) (p map[string]int64, kafka, ok bool) {
	if n, err := strconv.ParseInt(offset, 10, 64); err == nil {
		return map[string]int64{"": n}, false, true
	}
	var topics map[string]map[string]int64
	if json.Unmarshal([]byte(offset), &topics) == nil {
		p = map[string]int64{}
		for topic, partitions := range topics {
			for partition, n := range partitions {
				p[topic+"/"+partition] = n
			}
		}
		return p, true, true
	}
	var file map[string]int64
	if json.Unmarshal([]byte(offset), &file) == nil && len(file) == 1 {
		if n, ok := file["logOffset"]; ok {
			return map[string]int64{"logOffset": n}, false, true
		}
	}
	return nil, false, false
}

// origin is where a source begins, and how many records a step of its offset is: 0 if the offset does not count records.
type origin struct {
	unit  int64
	start map[string]int64
}

// span compares the ends of two batches that follow each other; from is nil for the beginning of the input. records is how many lie between them; -1 if the
// offsets do not count records, or a partition's beginning is not known.
func span(from []string, to *entry, origins map[int]origin) (records int64, faults []string) {
	if from != nil && len(from) != len(to.ends) {
		return -1, []string{fmt.Sprintf("it has %d sources, the batch before had %d", len(to.ends), len(from))}
	}
	for n, end := range to.ends {
		begin := ""
		if from != nil {
			begin = from[n]
		}
		starts, _, _ := positions(to.conf[fmt.Sprintf("microbatch.source.%d.starts", n)]) // of partitions that are new in this batch
		if starts == nil {
			starts = map[string]int64{}
		}
		if begin == "" {
			maps.Copy(starts, origins[n].start)
		}
		count, more := spanOf(begin, end, origin{origins[n].unit, starts})
		if records >= 0 && count >= 0 {
			records += count
		} else {
			records = -1
		}
		faults = append(faults, more...)
	}
	return records, faults
}

func spanOf(begin, end string, o origin) (records int64, faults []string) {
	if begin == end {
		return 0, nil
	}
	if end == "" {
		return -1, []string{"the source was read before and has no offset now"}
	}
	to, kafka, ok := positions(end)
	if kafka {
		o.unit = 1
	}
	if !ok {
		return -1, nil
	}
	from := map[string]int64{}
	if begin != "" {
		if from, _, ok = positions(begin); !ok {
			return -1, []string{fmt.Sprintf("the offset changes its form from %.60s to %.60s", begin, end)}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(from)) {
		switch now, ok := to[place]; {
		case !ok:
			faults = append(faults, fmt.Sprintf("partition %s has vanished", place))
		case now < from[place]:
			faults = append(faults, fmt.Sprintf("the end goes back from %d to %d%s", from[place], now, inPlace(place)))
		}
	}
	for place, now := range to {
		was, known := from[place]
		if !known {
			was, known = o.start[place]
		}
		if known && o.unit > 0 && records >= 0 {
			records += (now - was) * o.unit
		} else {
			records = -1
		}
	}
	return records, faults
}

// inPlace says where in an offset a number stands; nothing if it is the whole offset.
func inPlace(place string) string {
	if place == "" {
		return ""
	}
	return " at " + place
}
