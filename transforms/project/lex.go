package project

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind int

const (
	tokEnd    tokenKind = iota
	tokWord             // a name or keyword
	tokQuoted           // a name in quotes
	tokText             // '...'
	tokNumber
	tokSign // punctuation
)

// token is a piece of an expression; at is its byte offset.
type token struct {
	kind tokenKind
	text string // without quotes
	at   int
	end  int // behind it
}

// is compares a word without regard to case, or punctuation.
func (t token) is(text string) bool {
	return (t.kind == tokWord || t.kind == tokSign) && strings.EqualFold(t.text, text)
}

// String is how error messages call the token.
func (t token) String() string {
	if t.kind == tokEnd {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

// syntaxError is an error at a place in an expression.
type syntaxError struct {
	at      int
	message string
}

func (e *syntaxError) Error() string { return e.message }

func wrong(at int, format string, args ...any) error {
	return &syntaxError{at: at, message: fmt.Sprintf(format, args...)}
}

// lex cuts an expression into tokens; the last one is tokEnd.
func lex(s string) ([]token, error) {
	var out []token
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		if unicode.IsSpace(r) {
			at += size
			continue
		}
		t, err := lexOne(s, at, r)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
		at = t.end
	}
	return append(out, token{kind: tokEnd, at: len(s), end: len(s)}), nil
}

func lexOne(s string, at int, r rune) (token, error) {
	switch {
	case r == '\'' || r == '"' || r == '`':
		return lexQuoted(s, at)
	case isDigit(s, at) || r == '.' && isDigit(s, at+1):
		return lexNumber(s, at), nil
	case r == '_' || unicode.IsLetter(r):
		end := at
		for _, c := range s[at:] {
			if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
				break
			}
			end += utf8.RuneLen(c)
		}
		return token{tokWord, s[at:end], at, end}, nil
	}
	for _, sign := range []string{"::", "<>", "!=", "<=", ">=", "(", ")", ",", ".", "*", "=", "<", ">", "-", "+"} {
		if strings.HasPrefix(s[at:], sign) {
			return token{tokSign, sign, at, at + len(sign)}, nil
		}
	}
	return token{}, wrong(at, "%q is not part of select and filter", r)
}

// lexQuoted reads up to the closing quote; two quotes stand for one.
func lexQuoted(s string, at int) (token, error) {
	quote := s[at]
	var b strings.Builder
	for i := at + 1; i < len(s); i++ {
		if s[i] != quote {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		kind := tokQuoted
		if quote == '\'' {
			kind = tokText
		}
		return token{kind, b.String(), at, i + 1}, nil
	}
	return token{}, wrong(at, "the quote %c is not closed", quote)
}

func lexNumber(s string, at int) token {
	end := at
	for isDigit(s, end) {
		end++
	}
	if end < len(s) && s[end] == '.' {
		end++
		for isDigit(s, end) {
			end++
		}
	}
	if end < len(s) && (s[end] == 'e' || s[end] == 'E') {
		exponent := end + 1
		if exponent < len(s) && (s[exponent] == '-' || s[exponent] == '+') {
			exponent++
		}
		if isDigit(s, exponent) {
			for end = exponent; isDigit(s, end); end++ {
			}
		}
	}
	return token{tokNumber, s[at:end], at, end}
}

func isDigit(s string, at int) bool { return at < len(s) && s[at] >= '0' && s[at] <= '9' }
