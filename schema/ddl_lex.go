package schema

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word, a quoted name, a number, a string literal or one character of punctuation.
type token struct {
	kind tokenKind
	text string // a name without its quotes, a literal without its quotes
	at   int    // where it begins: 1 is the first character of the text
}

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokWord
	tokQuoted // `a name`
	tokNumber
	tokString // 'text' or "text"
	tokPunct
)

// is reports whether the token is that keyword or punctuation; a quoted name is neither.
func (t token) is(text string) bool {
	return (t.kind == tokWord || t.kind == tokPunct) && strings.EqualFold(t.text, text)
}

func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokQuoted:
		return "`" + t.text + "`"
	}
	return fmt.Sprintf("%q", t.text)
}

// lex cuts DDL text into tokens; the last one is tokEnd.
func lex(text string) ([]token, error) {
	var out []token
	runes := []rune(text)
	for i := 0; i < len(runes); {
		r, at := runes[i], i+1
		switch {
		case unicode.IsSpace(r):
			i++
		case r == '`' || r == '\'' || r == '"':
			body, next, ok := quoted(runes, i)
			if !ok {
				return nil, ddlError(text, at, "the quote %c is never closed", r)
			}
			kind := tokString
			if r == '`' {
				kind = tokQuoted
			}
			out, i = append(out, token{kind, body, at}), next
		case isWord(r):
			next := i + 1
			for next < len(runes) && isWord(runes[next]) {
				next++
			}
			word := string(runes[i:next])
			kind := tokWord
			if strings.Trim(word, "0123456789") == "" {
				kind = tokNumber
			}
			out, i = append(out, token{kind, word, at}), next
		case strings.ContainsRune("<>(),:", r):
			out, i = append(out, token{tokPunct, string(r), at}), i+1
		default:
			return nil, ddlError(text, at, "unexpected character %q; put a name with special characters in `backquotes`", r)
		}
	}
	return append(out, token{kind: tokEnd, at: utf8.RuneCountInString(text) + 1}), nil
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// quoted reads a quoted run from its opening quote; the quote doubled stands for itself, and in a literal a backslash takes the next character as it is.
func quoted(runes []rune, open int) (body string, next int, ok bool) {
	quote := runes[open]
	var b strings.Builder
	for i := open + 1; i < len(runes); i++ {
		switch {
		case runes[i] == '\\' && quote != '`' && i+1 < len(runes):
			i++
		case runes[i] == quote && i+1 < len(runes) && runes[i+1] == quote:
			i++
		case runes[i] == quote:
			return b.String(), i + 1, true
		}
		b.WriteRune(runes[i])
	}
	return "", 0, false
}

// DDLError is a mistake in DDL text.
type DDLError struct {
	Text   string // the whole text
	Column int    // of the character where the mistake is seen; 1 is the first
	Msg    string // what is wrong, and what would be right
}

// Error is "schema: column 12: message".
func (e *DDLError) Error() string { return fmt.Sprintf("schema: column %d: %s", e.Column, e.Msg) }

func ddlError(text string, column int, format string, args ...any) error {
	return &DDLError{Text: text, Column: column, Msg: fmt.Sprintf(format, args...)}
}
