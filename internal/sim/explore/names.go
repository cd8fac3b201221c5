package explore

import (
	"bytes"
	"crypto/sha256"
	"strconv"

	"microbatch/ident"
)

// names gives random ids (query, run, attempt and table ids, digests) the same names in every run: who brought an id into the world, and how many that one had brought
// before. So two runs that did the same look the same, whatever their chance was.
type names struct {
	known map[string]string
	count map[string]int
}

func newNames() *names { return &names{known: map[string]string{}, count: map[string]int{}} }

// learn names an id that nobody has seen yet.
func (n *names) learn(id, by string) string {
	name, ok := n.known[id]
	if !ok {
		name = by + "." + strconv.Itoa(n.count[by])
		n.count[by]++
		n.known[id] = name
	}
	return name
}

// entry names the digests of an entry of offsets: they are a function of it, whoever computes them first.
func (n *names) entry(id ident.BatchID, data []byte, by string) {
	digest := ident.DigestOf(data)
	name := n.learn(digest.String(), by)
	n.known[strconv.FormatInt(int64(digest.Stored(id)), 10)] = name
}

// canonical appends text with every id replaced by its name and every time by T. Times decide nothing here: the ages that matter to the product are hours and
// days, and a schedule takes seconds.
func (n *names) canonical(out, text []byte, by string) []byte {
	for i := 0; i < len(text); {
		size, kind := token(text[i:])
		if bytes.HasSuffix(text[:i], sumOfLines) && size == len("01234567") {
			kind = anID
		}
		switch kind {
		case anID:
			out = append(out, n.learn(string(text[i:i+size]), by)...)
		case aTime:
			out = append(out, 'T')
		default:
			out = append(out, text[i:i+size]...)
		}
		i += size
	}
	return out
}

// sumOfLines stands before the checksum of a log checkpoint's lines, which hold random ids.
var sumOfLines = []byte(`"microbatch.crc32c":"`)

// The kinds of token.
const (
	aWord = iota
	anID
	aTime
)

// token is the length and the kind of what a text begins with.
func token(text []byte) (size, kind int) {
	if n := uuidAt(text); n > 0 {
		return n, anID
	}
	if n := timeAt(text); n > 0 {
		return n, aTime
	}
	digits, hex := true, true
	for size < len(text) && alphanumeric(text[size]) {
		c := text[size]
		digits = digits && c >= '0' && c <= '9'
		hex = hex && (c <= '9' || c >= 'a' && c <= 'f')
		size++
	}
	switch {
	case size == 0:
		return 1, aWord
	case digits && size == len("946684800000") && bytes.HasPrefix(text, []byte("946")): // milliseconds: the clock of a bubble begins with the year 2000
		return size, aTime
	case digits && size > len("946684800000") && text[0] != '0', // a digest in a table log; versions have zeros in front
		hex && size == 8 && len(text) == 8, // the checksum at the end of a file that is ours alone
		hex && size == 16, hex && size == 2*sha256.Size:
		return size, anID
	}
	return size, aWord
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

const uuidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

func uuidAt(text []byte) int {
	if len(text) < len(uuidForm) {
		return 0
	}
	for i := range len(uuidForm) {
		c := text[i]
		if dash := uuidForm[i] == '-'; dash != (c == '-') || !dash && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return 0
		}
	}
	return len(uuidForm)
}

// timeAt is the length of an ISO 8601 time, 0 if there is none.
func timeAt(text []byte) int {
	if len(text) < len("2000-01-01T00:00:00Z") || !bytes.HasPrefix(text, []byte("2000-01-")) {
		return 0
	}
	return bytes.IndexByte(text, 'Z') + 1
}
