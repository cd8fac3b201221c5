package config

import "reflect"

// Key describes a key of the pipeline file, for the JSON Schema and the reference.
type Key struct {
	Name    string // "" for the element of a list or dictionary
	Field   string // "Kafka.Brokers", whose comment explains the key
	Form    Form
	Words   string   // how a word is written: "a duration such as 30s"; "" if any text will do
	Pattern string   // a regular expression of the words
	Enum    []string // the allowed texts
	Default string   // "" is none
	Min     string   // of a number; "" is none
	Need    bool     // must be given
	Group   string   // exactly one key of the same group is given; "" is none
	Keys    []Key    // of a mapping
	Element *Key     // of a list or dictionary
}

// Form is how a value is written.
type Form int

// The forms.
const (
	Text Form = iota
	Number
	Boolean
	Word       // a text or number of a form of its own
	List       // of Element
	Mapping    // of Keys
	Dictionary // of any names to Element
	WordOrKeys // a Word, or a Mapping
)

// Keys describes all keys of the pipeline file.
func Keys() []Key { return describeKeys(reflect.TypeFor[Config]()) }

func describeKeys(t reflect.Type) []Key {
	var out []Key
	for _, k := range keysIn(t) {
		f := t.FieldByIndex(k.index)
		owner := t
		if len(k.index) > 1 {
			owner = t.Field(k.index[0]).Type // an embedded struct
		}
		d := describe(k.typ)
		d.Name, d.Field, d.Default, d.Min, d.Need, d.Group = k.key, owner.Name()+"."+f.Name, k.fallback, k.min, k.need, k.group
		if d.Element != nil {
			d.Element.Enum = k.enum
		} else {
			d.Enum = k.enum
		}
		out = append(out, d)
	}
	return out
}

func describe(t reflect.Type) Key {
	if t.Kind() == reflect.Pointer {
		return describe(t.Elem())
	}
	if s, ok := scalarOf(t); ok {
		d := Key{Form: Word, Words: s.forms(), Pattern: s.pattern(), Keys: describeKeys(t)}
		if len(d.Keys) > 0 {
			d.Form = WordOrKeys
		}
		return d
	}
	switch t.Kind() {
	case reflect.Struct:
		return Key{Form: Mapping, Keys: describeKeys(t)}
	case reflect.Slice:
		element := describe(t.Elem())
		return Key{Form: List, Element: &element}
	case reflect.Map:
		element := describe(t.Elem())
		return Key{Form: Dictionary, Element: &element}
	case reflect.String:
		return Key{Form: Text}
	case reflect.Bool:
		return Key{Form: Boolean}
	}
	return Key{Form: Number}
}
