package csv

import "bytes"

// splitter finds where rows end by quotes, delimiters and line ends alone, over text that comes in pieces. It agrees with parser on every text.
type splitter struct {
	options *Options
	before  byte // the byte before the piece at hand; a line end at the beginning of a row
	inside  bool // of a quoted field
	held    bool // before is a quote or an escape inside of a quoted field that is not decided yet
}

// newSplitter begins at the beginning of a row.
func newSplitter(o *Options) *splitter { return &splitter{options: o, before: '\n'} }

// rowEnd is the length of the piece up to the end of the present row; 0 if the row goes on behind the piece.
func (s *splitter) rowEnd(b []byte) int {
	end := -1 // the first line end from i on, once it was looked for; len(b): none
	for i := 0; i < len(b); {
		if s.inside {
			i = s.close(b, i)
			continue
		}
		if end < i {
			if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
				end = i + n
			} else {
				end = len(b)
			}
		}
		quote := s.opening(b, i, end)
		if quote < 0 {
			if end == len(b) {
				break
			}
			s.before = '\n'
			return end + 1
		}
		s.inside = true
		i = quote + 1
	}
	s.before = b[len(b)-1]
	return 0
}

// opening is the index of the first quote in b[i:to] that opens a field; -1 if there is none.
func (s *splitter) opening(b []byte, i, to int) int {
	for i < to {
		n := bytes.IndexByte(b[i:to], s.options.Quote)
		if n < 0 {
			return -1
		}
		i += n
		before := s.before
		if i > 0 {
			before = b[i-1]
		}
		if before == s.options.Delimiter || before == '\n' {
			return i
		}
		i++
	}
	return -1
}

// close looks for the end of the quoted field and returns the index where to go on: behind its quote, or at the end of the piece.
func (s *splitter) close(b []byte, i int) int {
	if s.held {
		s.held = false
		if s.pair(s.before, b[i]) {
			i++
		} else if s.before == s.options.Quote {
			s.inside = false
			return i
		}
	}
	for i < len(b) {
		n := s.options.quoteAt(b[i:])
		if n < 0 {
			break
		}
		i += n
		if i+1 == len(b) {
			s.held = true
			return len(b)
		}
		switch {
		case s.pair(b[i], b[i+1]):
			i += 2
		case b[i] == s.options.Quote:
			s.inside = false
			return i + 1
		default: // an escape before something else is itself
			i++
		}
	}
	return len(b)
}

// pair reports whether two bytes of quoted text stand for the second of them.
func (s *splitter) pair(a, b byte) bool {
	return s.options.escapes([]byte{a, b}, 0)
}
