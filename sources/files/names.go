package files

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden reports whether a key is never data: an element beginning with a dot or an underscore, or a name that a copy in progress or Hadoop uses.
func hidden(key string) bool {
	if key[0] == '.' || key[0] == '_' || strings.Contains(key, "/.") || strings.Contains(key, "/_") {
		return true
	}
	return strings.HasSuffix(key, "._COPYING_") || strings.HasSuffix(key, ".tmp") || strings.HasSuffix(key, ".crc")
}

// compression is how a name says its content is compressed: "gz", "zst" or "".
func compression(key string) string {
	switch dot := strings.LastIndexByte(key, '.'); {
	case dot < 0:
		return ""
	case strings.EqualFold(key[dot:], ".gz"), strings.EqualFold(key[dot:], ".gzip"):
		return "gz"
	case strings.EqualFold(key[dot:], ".zst"), strings.EqualFold(key[dot:], ".zstd"):
		return "zst"
	}
	return ""
}

// RootURI is the URI of an absolute local path, for Config.Root.
func RootURI(path string) string { return "file://" + escape(strings.TrimSuffix(path, "/")) }

// root is the URI that all paths of a seen-log are below.
type root struct {
	text  string // without a slash at its end
	plain string // unescaped, with one spelling of the scheme, and a slash at its end
}

func newRoot(uri string) (root, error) {
	text := strings.TrimSuffix(uri, "/")
	plain, err := url.PathUnescape(plainScheme(text))
	if err != nil {
		return root{}, fmt.Errorf("root %q: %w", uri, err)
	}
	return root{text, plain + "/"}, nil
}

// uri is the URI of a key below the root.
func (r root) uri(key string) string { return r.text + "/" + escape(key) }

// key finds the key of a URI below the root; ok is false for one that is not below it. Hadoop's spellings of a scheme are accepted.
func (r root) key(uri string) (key string, ok bool) {
	path, err := url.PathUnescape(plainScheme(uri))
	if err != nil {
		return "", false
	}
	key, ok = strings.CutPrefix(path, r.plain)
	return key, ok && key != ""
}

// plainScheme makes file:/x of file:///x, and s3: of s3a: and s3n:.
func plainScheme(uri string) string {
	if rest, ok := strings.CutPrefix(uri, "file:"); ok {
		return "file:/" + strings.TrimLeft(rest, "/")
	}
	for _, scheme := range []string{"s3a:", "s3n:"} {
		if rest, ok := strings.CutPrefix(uri, scheme); ok {
			return "s3:" + rest
		}
	}
	return uri
}

// escape percent-encodes a path as java.net.URI does: ASCII that is not allowed in a path, control characters and invalid UTF-8; other letters stay.
func escape(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		if plain(r, n) {
			b.WriteString(path[i : i+n])
		} else {
			for _, c := range []byte(path[i : i+n]) {
				b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			}
		}
		i += n
	}
	return b.String()
}

func plain(r rune, size int) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-!.~'()*,;:$&+=@/", r)
	case r == utf8.RuneError && size == 1:
		return false
	}
	return !unicode.IsControl(r) && !unicode.IsSpace(r)
}
