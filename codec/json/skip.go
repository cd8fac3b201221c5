package json

import "unicode/utf8"

// blanks is the index of the first byte from i on that is no blank.
func (p *parser) blanks(i int) int {
	for p.buf[i] <= ' ' && p.white>>p.buf[i]&1 == 1 {
		i++
	}
	return i
}

// skip reads a value of any kind and checks that it is JSON.
func (p *parser) skip(i, depth int) int {
	switch c := p.buf[i]; {
	case c == '"':
		return p.skipString(i + 1)
	case c == '{':
		return p.skipObject(i, depth)
	case c == '[':
		return p.skipArray(i, depth)
	case c == '-' || c-'0' <= 9:
		if j := numberEnd(p.buf, i); j > 0 {
			return j
		}
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if string(p.buf[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	if j := notFinite(p.buf, i); j > 0 {
		return j
	}
	return p.malformed(i, "no JSON value")
}

// skipString reads the rest of a string, behind its quote.
func (p *parser) skipString(i int) int {
	from := i
	end, seen := plainEnd(p.buf, i, 0)
	for p.buf[end] == '\\' {
		if p.scratch, i = p.escape(p.scratch[:0], end+1); i < 0 {
			return -1
		}
		end, seen = plainEnd(p.buf, i, seen)
	}
	if p.buf[end] != '"' {
		return p.malformed(end, "a string holds a control character or does not end")
	}
	if seen&highs != 0 && !utf8.Valid(p.buf[from:end]) {
		return p.notUTF8(from)
	}
	return end + 1
}

// skipObject reads an object.
func (p *parser) skipObject(i, depth int) int {
	if depth == maxDepth {
		return p.tooDeep(i)
	}
	i = p.blanks(i + 1)
	if p.buf[i] == '}' {
		return i + 1
	}
	for {
		if p.buf[i] != '"' {
			return p.malformed(i, "a field name is missing")
		}
		if i = p.skipString(i + 1); i < 0 {
			return -1
		}
		if i = p.blanks(i); p.buf[i] != ':' {
			return p.malformed(i, "a colon is missing")
		}
		if i = p.skip(p.blanks(i+1), depth+1); i < 0 {
			return -1
		}
		i = p.blanks(i)
		if p.buf[i] == '}' {
			return i + 1
		}
		if p.buf[i] != ',' {
			return p.malformed(i, "a comma or } is missing")
		}
		i = p.blanks(i + 1)
	}
}

// skipArray reads an array.
func (p *parser) skipArray(i, depth int) int {
	if depth == maxDepth {
		return p.tooDeep(i)
	}
	i = p.blanks(i + 1)
	if p.buf[i] == ']' {
		return i + 1
	}
	for {
		if i = p.skip(i, depth+1); i < 0 {
			return -1
		}
		i = p.blanks(i)
		if p.buf[i] == ']' {
			return i + 1
		}
		if p.buf[i] != ',' {
			return p.malformed(i, "a comma or ] is missing")
		}
		i = p.blanks(i + 1)
	}
}
