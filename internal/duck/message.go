package duck

import (
	"encoding/json"
	"strconv"
	"strings"
)

// parseError takes DuckDB's message apart. With errors_as_json it is a JSON object, which the parser of statements puts after its own prefix.
func parseError(text string) *Error {
	if at := strings.IndexByte(text, '{'); at >= 0 {
		var m struct {
			Kind     string `json:"exception_type"`
			Message  string `json:"exception_message"`
			Position string `json:"position"`
			Subtype  string `json:"error_subtype"`
			Type     string `json:"type"`
			Name     string `json:"name"`
		}
		if json.Unmarshal([]byte(text[at:]), &m) == nil && m.Kind != "" {
			e := &Error{Kind: m.Kind, Message: oneLine(m.Message), Position: position(m.Position)}
			if m.Subtype == "MISSING_ENTRY" && m.Type == "Table" {
				e.Table = m.Name
			} else if name, ok := strings.CutPrefix(m.Message, "File "); ok && m.Kind == "Missing Extension" {
				e.Table, _, _ = strings.Cut(name, " requires the extension") // FROM 's3://...'
			}
			return e
		}
	}
	kind, message, ok := strings.Cut(text, " Error: ")
	if !ok {
		return &Error{Kind: "DuckDB", Message: text, Position: -1}
	}
	return &Error{Kind: kind, Message: oneLine(message), Position: -1}
}

// oneLine joins the lines of a message, as errors are.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.TrimSpace(s), func(r rune) bool { return r == '\n' }), "; ")
}

func position(s string) int {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return -1 // absent, or 2^64-1 for "nowhere"
	}
	return int(n)
}
