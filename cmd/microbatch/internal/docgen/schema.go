package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"microbatch/pipeline/config"
)

// object is a JSON object that keeps the order of its keys.
type object []entry

type entry struct {
	key   string
	value any
}

// MarshalJSON writes the entries in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(e.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, err)
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// pipelineSchema is the JSON Schema of the pipeline file.
func pipelineSchema(root string) (string, error) {
	texts, err := comments(root)
	if err != nil {
		return "", err
	}
	schema := object{
		{"$schema", "http://json-schema.org/draft-07/schema#"}, // the version that editors know best
		{"title", "microbatch pipeline"},
	}
	schema = append(schema, mappingSchema(config.Keys(), texts)...)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(schema); err != nil {
		return "", err
	}
	return unescapeHTML(b.String()), nil
}

// unescapeHTML undoes what MarshalJSON's inner calls escape for browsers.
func unescapeHTML(s string) string {
	for _, r := range []string{"<", ">", "&"} {
		s = string(bytes.ReplaceAll([]byte(s), fmt.Appendf(nil, "\\u%04x", r[0]), []byte(r)))
	}
	return s
}

func mappingSchema(keys []config.Key, texts map[string]string) object {
	var properties object
	var required []string
	groups := map[string][]string{}
	var order []string
	for _, k := range keys {
		properties = append(properties, entry{k.Name, keySchema(k, texts)})
		if k.Need {
			required = append(required, k.Name)
		}
		if k.Group == "" {
			continue
		}
		if groups[k.Group] == nil {
			order = append(order, k.Group)
		}
		groups[k.Group] = append(groups[k.Group], k.Name)
	}
	out := object{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
	if len(required) > 0 {
		out = append(out, entry{"required", required})
	}
	for _, g := range order { // no struct has more than one group
		var alternatives []object
		for _, name := range groups[g] {
			alternatives = append(alternatives, object{{"required", []string{name}}})
		}
		out = append(out, entry{"oneOf", alternatives})
	}
	return out
}

func keySchema(k config.Key, texts map[string]string) object {
	var out object
	if text := texts[k.Field]; text != "" {
		out = append(out, entry{"description", text})
	}
	if k.Default != "" {
		out = append(out, entry{"default", k.Default})
	}
	return append(out, valueSchema(k, texts)...)
}

func valueSchema(k config.Key, texts map[string]string) object {
	word := object{{"type", []string{"string", "number"}}, {"pattern", k.Pattern}}
	switch k.Form {
	case config.Mapping:
		// A key without a value ("console:") is an empty mapping.
		return object{{"anyOf", []any{mappingSchema(k.Keys, texts), object{{"type", "null"}}}}}
	case config.WordOrKeys:
		return object{{"anyOf", []any{word, mappingSchema(k.Keys, texts)}}}
	case config.Word:
		return word
	case config.List:
		return object{{"type", "array"}, {"items", valueSchema(*k.Element, texts)}}
	case config.Dictionary:
		return object{{"type", "object"}, {"additionalProperties", valueSchema(*k.Element, texts)}}
	case config.Boolean:
		return object{{"enum", []any{true, false, "on", "off"}}}
	case config.Number:
		out := object{{"type", "integer"}}
		if n, err := strconv.ParseInt(k.Min, 10, 64); err == nil {
			out = append(out, entry{"minimum", n})
		}
		return out
	}
	out := object{{"type", "string"}}
	if len(k.Enum) > 0 {
		out = append(out, entry{"enum", k.Enum})
	}
	return out
}
