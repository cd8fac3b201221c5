package action

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode writes actions one a line.
func Encode(actions []Action) ([]byte, error) {
	var b []byte
	var err error
	for i := range actions {
		if b, err = AppendLine(b, &actions[i]); err != nil {
			return nil, fmt.Errorf("action: line %d: %w", i+1, err)
		}
	}
	return b, nil
}

// AppendLine appends the line of an action, with its end.
func AppendLine(dst []byte, a *Action) ([]byte, error) {
	if a.Add != nil {
		if line, ok := appendPlain(dst, a.Add); ok {
			return append(line, '\n'), nil
		}
	}
	return appendAny(dst, a)
}

// appendAny is AppendLine for an action of any form.
func appendAny(dst []byte, a *Action) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b) // ends each value with LF
	e.SetEscapeHTML(false)
	err := e.Encode(a)
	return b.Bytes(), err
}

// DecodeLine reads one line, which is an object. Empty and unknown actions give an Action without a field.
func DecodeLine(line []byte) (Action, error) {
	if add, ok := decodePlain(bytes.TrimSuffix(line, []byte("\n"))); ok {
		return Action{Add: add}, nil
	}
	return decodeAny(line)
}

// decodeAny is DecodeLine for a line of any form.
func decodeAny(line []byte) (Action, error) {
	var a Action
	if string(bytes.TrimSpace(line)) == "null" {
		return a, fmt.Errorf("null is no action")
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	if key := repeatedKey(line, 2); key != "" {
		return a, fmt.Errorf("key %q occurs twice", key)
	}
	return a, a.Validate()
}

// Decode reads the lines of a commit and checks (A1). Errors name the line.
func Decode(data []byte) ([]Action, error) {
	var actions []Action
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		a, err := DecodeLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		actions = append(actions, a)
	}
	if len(actions) == 0 {
		return nil, fmt.Errorf("no actions")
	}
	return actions, checkKeys(actions)
}

// Validate reports what no action may lack.
func (a *Action) Validate() error {
	switch {
	case a.Add != nil && a.Add.Path == "", a.Remove != nil && a.Remove.Path == "":
		return fmt.Errorf("a file action without a path")
	case a.Add != nil && a.Add.Size < 0:
		return fmt.Errorf("add %q: negative size", a.Add.Path)
	case a.Txn != nil && a.Txn.AppID == "":
		return fmt.Errorf("txn without appId")
	case a.Metadata != nil && (a.Metadata.ID == "" || a.Metadata.Schema == ""):
		return fmt.Errorf("metaData without id or schemaString")
	case a.Protocol != nil && (a.Protocol.MinReader < 1 || a.Protocol.MinWriter < 1):
		return fmt.Errorf("protocol without versions")
	}
	return nil
}

// checkKeys enforces (A1).
func checkKeys(actions []Action) error {
	var protocols, metadatas int
	adds, removes, txns := map[FileKey]bool{}, map[FileKey]bool{}, map[string]bool{}
	for i := range actions {
		a := &actions[i]
		switch {
		case a.Protocol != nil:
			protocols++
		case a.Metadata != nil:
			metadatas++
		case a.Add != nil:
			if adds[a.Add.Key()] {
				return fmt.Errorf("two add actions for %q", a.Add.Path)
			}
			adds[a.Add.Key()] = true
		case a.Remove != nil:
			if removes[a.Remove.Key()] {
				return fmt.Errorf("two remove actions for %q", a.Remove.Path)
			}
			removes[a.Remove.Key()] = true
		case a.Txn != nil:
			if txns[a.Txn.AppID] {
				return fmt.Errorf("two txn actions for %q", a.Txn.AppID)
			}
			txns[a.Txn.AppID] = true
		}
	}
	if protocols > 1 || metadatas > 1 {
		return fmt.Errorf("two protocol or metaData actions in one commit")
	}
	return nil
}

// repeatedKey returns a key that an object of valid JSON holds twice, looking at objects down to a depth (1 is the outermost), or "".
// encoding/json would silently take the last one, and another reader the first.
func repeatedKey(data []byte, depth int) string {
	type level struct {
		object bool
		keys   [][]byte
	}
	var stack []level
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			stack = append(stack, level{object: data[i] == '{'})
		case '}', ']':
			stack = stack[:len(stack)-1]
		case '"':
			end := stringEnd(data, i)
			text := data[i+1 : end]
			i = end
			if top := len(stack) - 1; top >= 0 && top < depth && stack[top].object && followedByColon(data, end+1) {
				for _, k := range stack[top].keys {
					if bytes.Equal(k, text) {
						return string(text)
					}
				}
				stack[top].keys = append(stack[top].keys, text)
			}
		}
	}
	return ""
}

// stringEnd is the index of the quote that ends the string beginning at i.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

func followedByColon(data []byte, i int) bool {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i < len(data) && data[i] == ':'
}
