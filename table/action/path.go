package action

import (
	"fmt"
	"net/url"
	"strings"

	"microbatch/objstore"
)

// EncodePath is the URI text of a store key, as add.path holds it: every byte outside [A-Za-z0-9-._~/=] is percent-encoded.
func EncodePath(key string) string {
	const hex = "0123456789ABCDEF"
	plain := true
	for i := 0; i < len(key) && plain; i++ {
		plain = isPlain(key[i])
	}
	if plain {
		return key
	}
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		if c := key[i]; isPlain(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/=", c) >= 0
}

// DecodePath is the store key that a path of a log names: the text is percent-decoded exactly once. A path that leaves the table
// (absolute, another scheme, "..") is refused: whoever writes to a log must not make its readers open other files.
func DecodePath(path string) (string, error) {
	if first, _, _ := strings.Cut(path, "/"); hasScheme(first) {
		return "", fmt.Errorf("path %q is absolute; only files below the table are read", path)
	}
	key, err := url.PathUnescape(path)
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	if err := objstore.ValidKey(key); err != nil {
		return "", fmt.Errorf("path %q leaves the table or is not clean", path)
	}
	return key, nil
}

// hasScheme reports whether a first path element begins with "scheme:".
func hasScheme(first string) bool {
	scheme, _, found := strings.Cut(first, ":")
	if !found || scheme == "" {
		return false
	}
	for i := 0; i < len(scheme); i++ {
		c := scheme[i] | 0x20
		if !('a' <= c && c <= 'z' || i > 0 && (scheme[i] >= '0' && scheme[i] <= '9' || strings.IndexByte("+-.", scheme[i]) >= 0)) {
			return false
		}
	}
	return true
}
