package config

import (
	"reflect"
	"strings"
)

// key is a key of a mapping, as the tags of a struct's field describe it.
type key struct {
	index    []int
	key      string
	typ      reflect.Type
	fallback string   // the default; "" is the zero value
	enum     []string // the allowed words; nil is any
	group    string   // exactly one key of a group is given; "" is no group
	need     bool
	min      string
}

// keysIn lists the keys of a struct in their order.
func keysIn(t reflect.Type) []key {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var keys []key
	for _, f := range reflect.VisibleFields(t) {
		name, ok := f.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		k := key{index: f.Index, key: name, typ: f.Type, fallback: f.Tag.Get("default"), group: f.Tag.Get("one"), need: f.Tag.Get("need") == "true", min: f.Tag.Get("min")}
		if words := f.Tag.Get("enum"); words != "" {
			k.enum = strings.Split(words, ",")
		}
		keys = append(keys, k)
	}
	return keys
}

// isMapping reports whether a value of t is written as a mapping of fixed keys.
func isMapping(t reflect.Type) bool { return len(keysIn(t)) > 0 }

// plain is the type behind pointers and lists.
func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// scalar is a type that is written as one word with a form of its own.
type scalar interface {
	// parse reads the word. Its error says what would be right, and not what was there: that may be a secret.
	parse(word string) error
	// forms says in a few words how a value is written: "a duration such as 30s, 1h or 7d".
	forms() string
	// pattern is a regular expression of the words, for the JSON Schema.
	pattern() string
}

func asScalar(v reflect.Value) (scalar, bool) {
	s, ok := v.Addr().Interface().(scalar)
	return s, ok
}

func scalarOf(t reflect.Type) (scalar, bool) { return asScalar(reflect.New(t).Elem()) }
