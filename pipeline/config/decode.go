package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"microbatch/internal/errcode"
)

// decoder fills typed values from nodes. It goes on after a fault, so that all are found at once.
type decoder struct {
	dir    string // of the file: what relative paths of secrets are relative to
	faults *Faults
	places map[string]place // of each value that was given, by its path
}

// at is the place of the value at path, or of the nearest mapping around it that was given.
func (d *decoder) at(path string) place {
	for {
		if p, ok := d.places[path]; ok {
			return p
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

func (d *decoder) bad(n *node, path, format string, args ...any) {
	d.faults.add(errcode.PipelineValue, n.place, "%s: %s", path, fmt.Sprintf(format, args...))
}

// value decodes n into v. k describes the key that holds it.
func (d *decoder) value(n *node, v reflect.Value, path string, k key) {
	d.places[path] = n.place
	if s, ok := v.Addr().Interface().(*Secret); ok {
		d.secret(n, s, path)
		return
	}
	if s, ok := asScalar(v); ok && n.kind != mapping {
		d.scalar(n, s, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path, k)
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Slice:
		d.list(n, v, path, k)
	case reflect.Map:
		d.dictionary(n, v, path, k)
	case reflect.String:
		d.text(n, v, path, k)
	case reflect.Bool:
		d.boolean(n, v, path)
	default:
		d.number(n, v, path, k)
	}
}

func (d *decoder) scalar(n *node, s scalar, path string) {
	if n.kind == null || n.kind == list {
		d.bad(n, path, "want %s, have %s", s.forms(), n.describe())
		return
	}
	if err := s.parse(n.text); err != nil {
		d.bad(n, path, "%v, want %s", err, s.forms())
	}
}

func (d *decoder) mapping(n *node, v reflect.Value, path string) {
	t := v.Type()
	if n.kind != mapping && n.kind != null {
		d.bad(n, path, "want a mapping of keys (%s), have %s", strings.Join(keysOf(t), ", "), n.describe())
		return
	}
	for _, f := range n.fields {
		if !slices.ContainsFunc(keysIn(t), func(k key) bool { return k.key == f.key }) {
			d.unknown(f, t, path)
		}
	}
	groups := map[string][]string{} // group to the keys given
	for _, k := range keysIn(t) {
		inner := join(path, k.key)
		given := n.get(k.key)
		if given != nil {
			d.value(given, v.FieldByIndex(k.index), inner, k)
			groups[k.group] = append(groups[k.group], k.key)
			continue
		}
		if k.need {
			d.faults.add(errcode.PipelineMissing, n.place, "%s is missing; %s", inner, wanted(k))
		}
		d.absent(v.FieldByIndex(k.index), k)
	}
	d.groups(n, t, path, groups)
}

// absent gives a value its defaults.
func (d *decoder) absent(v reflect.Value, k key) {
	if isMapping(v.Type()) && !k.need {
		if _, word := asScalar(v); !word {
			for _, inner := range keysIn(v.Type()) {
				d.absent(v.FieldByIndex(inner.index), inner)
			}
			return
		}
	}
	if k.fallback == "" {
		return
	}
	d.value(&node{kind: fallbackKind(v.Type()), text: k.fallback}, v, "default", key{})
}

func fallbackKind(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return boolean
	}
	return number
}

func (d *decoder) groups(n *node, t reflect.Type, path string, given map[string][]string) {
	members := map[string][]string{}
	var names []string
	for _, k := range keysIn(t) {
		if k.group != "" && members[k.group] == nil {
			names = append(names, k.group)
		}
		members[k.group] = append(members[k.group], k.key)
	}
	for _, g := range names {
		alternatives := strings.Join(members[g], ", ")
		switch have := given[g]; {
		case len(have) == 0 && !slices.ContainsFunc(n.fields, func(f field) bool { return isLater(f.key) || nearest(f.key, members[g]) != "" }):
			d.faults.add(errcode.PipelineMissing, n.place, "%s says no %s; want exactly one of %s", orTop(path), g, alternatives)
		case len(have) > 1:
			d.faults.add(errcode.PipelineCombination, d.at(join(path, have[1])), "%s has %s; want exactly one of %s", orTop(path), strings.Join(have, " and "), alternatives)
		}
	}
}

func (d *decoder) unknown(f field, t reflect.Type, path string) {
	if isLater(f.key) {
		d.faults.add(errcode.PipelineUnavailable, f.place, "%s is not available in this version; available: %s", join(path, f.key), strings.Join(keysOf(t), ", "))
		return
	}
	d.faults.add(errcode.PipelineUnknownKey, f.place, "unknown key %s%s", join(path, f.key), suggest(f.key, t))
}

// isLater reports whether a key is planned but not built yet: it deserves a better answer than "unknown".
func isLater(key string) bool {
	return slices.Contains([]string{"deduplicate", "window", "watermark", "join", "aggregate", "postgres", "http", "kinesis", "shards", "protobuf"}, key)
}

func (d *decoder) list(n *node, v reflect.Value, path string, k key) {
	if n.kind != list {
		hint := ""
		if n.kind == text || n.kind == number {
			hint = "; put it in brackets: [...]"
		}
		d.bad(n, path, "want a list, have %s%s", n.describe(), hint)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		d.value(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i), key{enum: k.enum})
	}
	if k.need && len(n.items) == 0 {
		d.bad(n, path, "the list is empty; %s", wanted(k))
	}
}

func (d *decoder) dictionary(n *node, v reflect.Value, path string, k key) {
	if n.kind != mapping && n.kind != null {
		d.bad(n, path, "want a mapping, have %s", n.describe())
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range n.fields {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(f.value, element, join(path, f.key), key{enum: k.enum})
		v.SetMapIndex(reflect.ValueOf(f.key), element)
	}
}

func (d *decoder) text(n *node, v reflect.Value, path string, k key) {
	switch {
	case n.kind == number || n.kind == boolean:
		if len(k.enum) == 0 {
			d.bad(n, path, "want a text, have %s; put it in quotes: %q", n.describe(), n.text)
			return
		}
	case n.kind == null && strings.EqualFold(n.text, "null"):
		d.bad(n, path, "want a text, and %s is none in YAML; put it in quotes: %q", n.text, n.text)
		return
	case n.kind != text:
		d.bad(n, path, "want a text, have %s", n.describe())
		return
	case n.text == "" && k.need:
		d.bad(n, path, "the text is empty; %s", wanted(k))
		return
	}
	if len(k.enum) > 0 && !slices.Contains(k.enum, n.text) {
		d.bad(n, path, "%q is not one of %s%s", n.text, strings.Join(k.enum, ", "), hintFor(n.text, k.enum))
		return
	}
	v.SetString(n.text)
}

func hintFor(word string, words []string) string {
	if best := nearest(word, words); best != "" {
		return "; did you mean " + best + "?"
	}
	if isLater(word) {
		return "; it is not available in this version"
	}
	return ""
}

// boolean also takes on and off, which are texts in YAML 1.2.
func (d *decoder) boolean(n *node, v reflect.Value, path string) {
	switch {
	case n.kind == boolean, n.kind == text && (n.text == "on" || n.text == "off"):
		v.SetBool(n.text == "on" || strings.EqualFold(n.text, "true"))
	default:
		d.bad(n, path, "want true or false, have %s", n.describe())
	}
}

func (d *decoder) number(n *node, v reflect.Value, path string, k key) {
	if n.kind != number {
		d.bad(n, path, "want a whole number, have %s", n.describe())
		return
	}
	x, ok := wholeNumber(n.text)
	if !ok || v.OverflowInt(x) {
		d.bad(n, path, "want a whole number, have %s", n.text)
		return
	}
	if least, err := strconv.ParseInt(k.min, 10, 64); err == nil && x < least {
		d.bad(n, path, "want at least %d, have %d", least, x)
		return
	}
	v.SetInt(x)
}

// wholeNumber reads 1000000, 1_000_000, 0x10 and 1e6.
func wholeNumber(s string) (int64, bool) {
	if x, err := strconv.ParseInt(s, 0, 64); err == nil {
		return x, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int64(f), true
}

// secret resolves a reference. What was given is never printed: it may be the secret itself.
func (d *decoder) secret(n *node, s *Secret, path string) {
	if n.kind != text {
		d.faults.add(errcode.PipelineSecret, n.place, "%s: want %s, have %s", path, s.forms(), kindOnly(n))
		return
	}
	reference := n.text
	if name, ok := strings.CutPrefix(reference, "file:"); ok && !filepath.IsAbs(name) {
		reference = "file:" + filepath.Join(d.dir, name)
	}
	if err := s.resolve(reference); err != nil {
		d.faults.add(errcode.PipelineSecret, n.place, "%s: %v", path, err)
	}
}

// kindOnly is describe without the value.
func kindOnly(n *node) string {
	if n.kind == number || n.kind == boolean {
		return "a plain value"
	}
	return n.describe()
}

func wanted(k key) string {
	if s, ok := scalarOf(plain(k.typ)); ok {
		return "want " + s.forms()
	}
	switch {
	case len(k.enum) > 0:
		return "want one of " + strings.Join(k.enum, ", ")
	case isMapping(plain(k.typ)):
		return "want a mapping of keys (" + strings.Join(keysOf(plain(k.typ)), ", ") + ")"
	case k.typ.Kind() == reflect.Slice:
		return "want a list such as [a, b]"
	case k.typ.Kind() == reflect.String:
		return "want a text"
	}
	return "want a value"
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func orTop(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}
