package files

import (
	"fmt"
	"regexp"
	"strings"
)

const special = `*?[{\`

// SplitGlob cuts a path or URI that may hold a glob into the directory before the first special character and the glob below it.
// Without a special character the glob is "".
func SplitGlob(path string) (root, glob string) {
	i := strings.IndexAny(path, special)
	if i < 0 {
		return path, ""
	}
	slash := strings.LastIndexByte(path[:i], '/')
	if slash < 0 {
		return ".", path
	}
	return path[:max(slash, 1)], path[slash+1:]
}

// pattern decides which keys a glob means.
type pattern struct {
	prefix string         // all matching keys begin so
	match  *regexp.Regexp // nil: all keys
}

func compileGlob(glob string) (pattern, error) {
	if glob == "" {
		return pattern{}, nil
	}
	text, err := globRegexp(glob)
	if err != nil {
		return pattern{}, fmt.Errorf("glob %q: %w", glob, err)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, fmt.Errorf("glob %q: a [ ] set is malformed: %w", glob, err)
	}
	prefix := glob
	if i := strings.IndexAny(glob, special); i >= 0 {
		prefix = glob[:i]
	}
	return pattern{prefix: prefix, match: re}, nil
}

func (p pattern) matches(key string) bool { return p.match == nil || p.match.MatchString(key) }

// globRegexp translates a glob. Each character class and wildcard excludes the slash, except ** as a whole element.
func globRegexp(glob string) (string, error) {
	var b strings.Builder
	b.WriteString(`\A(?s:`)
	depth := 0
	for i := 0; i < len(glob); {
		rest := glob[i:]
		switch c := glob[i]; {
		case atElement(glob, i) && (strings.HasPrefix(rest, "**/")):
			b.WriteString(`(?:[^/]+/)*`)
			i += 3
		case atElement(glob, i) && rest == "**":
			b.WriteString(`.+`)
			i += 2
		case c == '*':
			b.WriteString(`[^/]*`)
			i++
		case c == '?':
			b.WriteString(`[^/]`)
			i++
		case c == '[':
			set, n, err := globSet(rest)
			if err != nil {
				return "", err
			}
			b.WriteString(set)
			i += n
		case c == '{':
			b.WriteString(`(?:`)
			depth++
			i++
		case c == '}' && depth > 0:
			b.WriteByte(')')
			depth--
			i++
		case c == ',' && depth > 0:
			b.WriteByte('|')
			i++
		case c == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
		case c == '\\':
			return "", fmt.Errorf("it ends in a backslash")
		default:
			n := strings.IndexAny(rest[1:], special+",}") + 1
			if n == 0 {
				n = len(rest)
			}
			// Up to the next slash, so that ** is seen at the beginning of an element.
			if slash := strings.IndexByte(rest[:n], '/'); slash >= 0 {
				n = slash + 1
			}
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
		}
	}
	if depth > 0 {
		return "", fmt.Errorf("a { has no }")
	}
	b.WriteString(`)\z`)
	return b.String(), nil
}

func atElement(glob string, i int) bool { return i == 0 || glob[i-1] == '/' }

// globSet translates a [ ] set and says how long it is.
func globSet(s string) (set string, length int, err error) {
	end := strings.IndexByte(s[1:], ']')
	if end == 0 || end == 1 && (s[1] == '!' || s[1] == '^') { // a ] that comes first is a member
		first := end
		if end = strings.IndexByte(s[first+2:], ']'); end >= 0 {
			end += first + 1
		}
	}
	if end < 0 {
		return "", 0, fmt.Errorf("a [ has no ]")
	}
	body := s[1 : end+1]
	exclude := "["
	if body[0] == '!' || body[0] == '^' {
		exclude, body = "[^/", body[1:]
	}
	body = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(body)
	return exclude + body + "]", end + 2, nil
}
