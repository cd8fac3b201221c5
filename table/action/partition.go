package action

import (
	"maps"
	"slices"
	"strings"
)

// PartitionKey tells partitions apart, as far as their values are spelled alike.
func PartitionKey(values map[string]*string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		b.WriteString(name)
		if v := values[name]; v != nil {
			b.WriteString("\x00=" + *v)
		}
		b.WriteString("\x00,")
	}
	return b.String()
}
