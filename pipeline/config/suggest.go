package config

import (
	"reflect"
	"strings"
)

// suggest says what an unknown key of t was probably meant to be, as the end of a message.
func suggest(word string, t reflect.Type) string {
	if here := fromSpark(word); here != "" {
		return "; what Spark calls " + word + " is " + here + " here"
	}
	known := keysOf(t)
	if best := nearest(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	if home, found := homeOf(word, reflect.TypeFor[Config](), ""); found {
		if home == "" {
			return "; it belongs at the top level of the file"
		}
		return "; it belongs in " + home
	}
	return "; known here: " + strings.Join(known, ", ")
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for _, k := range keysIn(t) {
		keys = append(keys, k.key)
	}
	return keys
}

// homeOf is the path of the mapping in or below t that has the key.
func homeOf(word string, t reflect.Type, path string) (string, bool) {
	for _, k := range keysIn(t) {
		if k.key == word {
			return path, true
		}
	}
	for _, k := range keysIn(t) {
		if home, found := homeOf(word, plain(k.typ), join(path, k.key)); found {
			return home, true
		}
	}
	return "", false
}

// nearest is the candidate with the fewest edits from s, if few enough.
func nearest(s string, candidates []string) string {
	best, fewest := "", max(1, len(s)/3)+1
	for _, c := range candidates {
		if d := edits(strings.ToLower(s), strings.ToLower(c)); d < fewest {
			best, fewest = c, d
		}
	}
	return best
}

// edits is how many insertions, deletions, replacements and swaps of neighbours turn a into b.
func edits(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
