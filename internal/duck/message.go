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
			e := &Error{Kind: m.Kind, Message: m.Message, Position: position(m.Position)}
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
	return &Error{Kind: kind, Message: message, Position: -1}
}

func position(s string) int {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return -1 // absent, or 2^64-1 for "nowhere"
	}
	return int(n)
}
