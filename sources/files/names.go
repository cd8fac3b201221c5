package files

import (
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

// uri is the URI of a key below the root.
func uri(root, key string) string { return strings.TrimSuffix(root, "/") + "/" + escape(key) }

// keyOf finds the key of a URI below the root; ok is false for one that is not below it. Hadoop's spellings of a scheme are accepted.
func keyOf(root, uri string) (key string, ok bool) {
	base, err := url.PathUnescape(plainScheme(strings.TrimSuffix(root, "/")))
	if err != nil {
		return "", false
	}
	path, err := url.PathUnescape(plainScheme(uri))
	if err != nil {
		return "", false
	}
	key, ok = strings.CutPrefix(path, base+"/")
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
