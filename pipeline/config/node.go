package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"microbatch/internal/errcode"
)

// place is where a value was written: in a file, or on the command line (then there is no line).
type place struct {
	file         string
	line, column int
}

// String is "file:line:column", the form that editors and terminals make clickable.
func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.column)
}

type kind int

const (
	null kind = iota
	text
	number
	boolean
	list
	mapping
)

// node is a YAML value with its place. Unlike the parser's tree it can be changed by overrides.
type node struct {
	kind   kind
	place  place
	text   string // of a scalar, as written
	items  []*node
	fields []field
}

type field struct {
	key   string
	place place
	value *node
}

// describe is the value in words, for "want ..., have ...". It shows no text: a text may be a secret in the wrong place.
func (n *node) describe() string {
	switch n.kind {
	case text:
		return "a text"
	case number:
		return "the number " + n.text
	case boolean:
		return n.text
	case list:
		return "a list"
	case mapping:
		return "a mapping of keys"
	}
	return "nothing"
}

func (n *node) get(key string) *node {
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

const (
	// maxDepth bounds nesting; the deepest legal file needs six levels.
	maxDepth = 32
	// maxBytes and maxBrackets bound what the YAML parser is given, which needs time by the square of both. SQL texts may be long and have brackets.
	maxBytes    = 256 << 10
	maxBrackets = 1000
)

// reader turns the parser's tree into nodes.
type reader struct {
	file    string
	anchors map[string]*node
	faults  *Faults
}

// parse reads one YAML document. An empty one is an empty mapping.
func parse(file string, data []byte, faults *Faults) *node {
	empty := &node{kind: mapping, place: place{file, 1, 1}}
	if why := tooMuch(data); why != "" {
		faults.add(errcode.PipelineSyntax, empty.place, "%s: this is no pipeline file", why)
		return empty
	}
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		faults.add(errcode.PipelineSyntax, syntaxPlace(file, err), "%s", syntaxMessage(err))
		return empty
	}
	var body ast.Node
	for _, d := range tree.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			faults.add(errcode.PipelineSyntax, place{file, d.Body.GetToken().Position.Line, 1}, "a second document; a pipeline file holds one")
			return empty
		}
		body = d.Body
	}
	if body == nil {
		return empty
	}
	r := reader{file: file, anchors: map[string]*node{}, faults: faults}
	root := r.node(body, 0)
	if root.kind != mapping {
		faults.add(errcode.PipelineSyntax, root.place, "the file is %s; want keys such as name, source and sink", root.describe())
		return empty
	}
	return root
}

// tooMuch says why a text is not worth parsing; "" if it is.
func tooMuch(data []byte) string {
	if len(data) > maxBytes {
		return fmt.Sprintf("it has %d bytes, more than %d", len(data), maxBytes)
	}
	open := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{"))
	if closed := bytes.Count(data, []byte("]")) + bytes.Count(data, []byte("}")); open-closed > maxBrackets {
		return fmt.Sprintf("%d brackets are not closed", open-closed)
	}
	return ""
}

func syntaxPlace(file string, err error) place {
	if e, ok := errors.AsType[*yaml.SyntaxError](err); ok && e.Token != nil && e.Token.Position != nil {
		return place{file, e.Token.Position.Line, e.Token.Position.Column}
	}
	return place{file, 1, 1}
}

// quoted is text of the file in a message of the YAML parser.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// syntaxMessage says what is wrong without the file's own text, which may be a secret in the wrong place.
func syntaxMessage(err error) string {
	message := err.Error()
	if e, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		message = e.Message
	}
	return quoted.ReplaceAllString(message, `"..."`)
}

func (r *reader) at(t *token.Token) place {
	return place{r.file, t.Position.Line, t.Position.Column}
}

func (r *reader) node(n ast.Node, depth int) *node {
	if depth > maxDepth {
		r.faults.add(errcode.PipelineSyntax, r.at(n.GetToken()), "nested more than %d levels deep", maxDepth)
		return &node{kind: null, place: r.at(n.GetToken())}
	}
	out := &node{place: r.at(n.GetToken())}
	switch n := n.(type) {
	case *ast.NullNode:
		out.text = n.Token.Value
	case *ast.BoolNode:
		out.kind, out.text = boolean, n.Token.Value
	case *ast.IntegerNode:
		out.kind, out.text = number, n.Token.Value
	case *ast.FloatNode:
		out.kind, out.text = number, n.Token.Value
	case *ast.StringNode:
		out.kind, out.text = text, n.Value
	case *ast.LiteralNode:
		out.kind, out.text = text, n.Value.Value
	case *ast.SequenceNode:
		out.kind = list
		for _, v := range n.Values {
			if word, ok := wordWithColon(v); ok {
				out.items = append(out.items, &node{kind: text, place: r.at(v.(*ast.MappingNode).Values[0].Key.GetToken()), text: word})
				continue
			}
			out.items = append(out.items, r.node(v, depth+1))
		}
	case *ast.MappingNode:
		out.kind = mapping
		for _, v := range n.Values {
			r.field(out, v, depth)
		}
		if len(out.fields) > 0 && !n.IsFlowStyle {
			out.place = out.fields[0].place
		}
	case *ast.MappingValueNode:
		out.kind = mapping
		r.field(out, n, depth)
	case *ast.AnchorNode:
		out = r.node(n.Value, depth+1)
		r.anchors[n.Name.GetToken().Value] = out
	case *ast.AliasNode:
		if target := r.anchors[n.Value.GetToken().Value]; target != nil {
			return target
		}
		// Its name is not shown: it may be a password that begins with a star.
		r.faults.add(errcode.PipelineSyntax, out.place, "an alias (*name) without its anchor (&name) before it; put a text that begins with * in quotes")
	default:
		r.faults.add(errcode.PipelineSyntax, out.place, "%s is not used in pipeline files", n.Type())
	}
	return out
}

// wordWithColon is localhost:9092 in {brokers: [localhost:9092]}: a colon without a space after it is part of a word (YAML 1.2, 7.3.3), but
// the parser makes a mapping of it when the list stands within braces.
func wordWithColon(n ast.Node) (string, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok || len(m.Values) != 1 || m.Values[0].Value == nil {
		return "", false
	}
	key, colon, value := m.Values[0].Key.GetToken(), m.Values[0].Start, m.Values[0].Value.GetToken()
	adjacent := value.Position.Line == colon.Position.Line && value.Position.Column == colon.Position.Column+1
	if !adjacent || key.Indicator == token.QuotedScalarIndicator || value.Indicator != token.NotIndicator {
		return "", false
	}
	return key.Value + ":" + value.Value, true
}

func (r *reader) field(out *node, v *ast.MappingValueNode, depth int) {
	at := r.at(v.Key.GetToken())
	key := v.Key.GetToken().Value
	if _, merge := v.Key.(*ast.MergeKeyNode); merge {
		r.faults.add(errcode.PipelineSyntax, at, "the merge key << is not used in pipeline files; write the keys out")
		return
	}
	if out.get(key) != nil {
		r.faults.add(errcode.PipelineSyntax, at, "the key %s is given twice; keep one", key)
		return
	}
	out.fields = append(out.fields, field{key, at, r.node(v.Value, depth+1)})
}
