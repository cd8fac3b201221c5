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
		}
		if json.Unmarshal([]byte(text[at:]), &m) == nil && m.Kind != "" {
			return &Error{Kind: m.Kind, Message: m.Message, Position: position(m.Position)}
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
