package project

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/schema"
)

// The syntax tree, not yet bound to columns.
type (
	// value is a column or a literal, perhaps cast.
	value struct {
		at      int
		text    string   // as written
		column  []string // or
		literal *literal // or
		cast    *castOf
	}
	castOf struct {
		of  *value
		to  arrow.DataType
		try bool // null instead of an error
	}
	// literal is a constant: a number, a text, a truth value, or a text with a type in front.
	literal struct {
		at   int
		kind tokenKind // tokNumber, tokText, tokWord (TRUE, FALSE)
		text string
		of   string // "DATE" or "TIMESTAMP", or ""
	}
	// condition is one of its parts.
	condition struct {
		op    string // "AND", "OR", "NOT"; "NULL" for IS NULL; "IN"; "=", "<>", ...; "" for a BOOLEAN value
		parts []*condition
		value *value
		list  []*literal // the right side of a comparison or of IN
	}
	// item is one element of a select list.
	item struct {
		text   string
		star   bool
		except []string
		value  *value
		name   string // "" is the column's own
	}
)

const useSQL = "select and filter know columns, casts and comparisons with a literal; write this step with sql"

type parser struct {
	text string
	rest []token
}

func newParser(text string) (*parser, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	return &parser{text: text, rest: tokens}, nil
}

func (p *parser) peek() token { return p.rest[0] }

func (p *parser) next() token {
	t := p.rest[0]
	if t.kind != tokEnd {
		p.rest = p.rest[1:]
	}
	return t
}

func (p *parser) accept(text string) bool {
	ok := p.peek().is(text)
	if ok {
		p.next()
	}
	return ok
}

func (p *parser) expect(text string) error {
	if t := p.peek(); !p.accept(text) {
		return wrong(t.at, "%q expected, found %s (%s)", text, t, useSQL)
	}
	return nil
}

func (p *parser) end() error { // of the whole expression
	if t := p.peek(); t.kind != tokEnd {
		return wrong(t.at, "unexpected %s: %s", t, useSQL)
	}
	return nil
}

func parseItem(text string) (*item, error) {
	p, err := newParser(text)
	if err != nil {
		return nil, err
	}
	it := &item{text: text}
	if p.accept("*") {
		it.star = true
		if p.accept("EXCEPT") {
			it.except, err = p.names()
		}
	} else if it.value, err = p.value(); err == nil && p.accept("AS") {
		it.name, err = p.name()
	}
	if err != nil {
		return nil, err
	}
	return it, p.end()
}

// names is "(" name { "," name } ")".
func (p *parser) names() ([]string, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var out []string
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		out = append(out, name)
		if !p.accept(",") {
			return out, p.expect(")")
		}
	}
}

func (p *parser) name() (string, error) {
	t := p.next()
	if t.kind != tokWord && t.kind != tokQuoted {
		return "", wrong(t.at, "a name expected, found %s", t)
	}
	return t.text, nil
}

func parseCondition(text string) (*condition, error) {
	p, err := newParser(text)
	if err != nil {
		return nil, err
	}
	c, err := p.or(0)
	if err != nil {
		return nil, err
	}
	return c, p.end()
}

// maxDepth bounds parentheses and NOTs.
const maxDepth = 200

func (p *parser) or(depth int) (*condition, error)  { return p.chain("OR", depth, p.and) }
func (p *parser) and(depth int) (*condition, error) { return p.chain("AND", depth, p.not) }

func (p *parser) chain(op string, depth int, part func(int) (*condition, error)) (*condition, error) {
	first, err := part(depth)
	if err != nil {
		return nil, err
	}
	all := []*condition{first}
	for p.accept(op) {
		c, err := part(depth)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(all) == 1 {
		return first, nil
	}
	return &condition{op: op, parts: all}, nil
}

func (p *parser) not(depth int) (*condition, error) {
	if depth > maxDepth {
		return nil, wrong(p.peek().at, "the condition is nested more than %d deep", maxDepth)
	}
	if p.accept("NOT") {
		c, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return negate(c), nil
	}
	if p.accept("(") {
		c, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		return c, p.expect(")")
	}
	return p.predicate()
}

func negate(c *condition) *condition { return &condition{op: "NOT", parts: []*condition{c}} }

var mirrored = map[string]string{"=": "=", "<>": "<>", "!=": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (p *parser) predicate() (*condition, error) {
	left, err := p.value()
	if err != nil {
		return nil, err
	}
	t := p.peek()
	switch {
	case p.accept("IS"):
		not := p.accept("NOT")
		c := &condition{op: "NULL", value: left}
		if not {
			c = negate(c)
		}
		return c, p.expect("NULL")
	case p.accept("NOT"):
		if err := p.expect("IN"); err != nil {
			return nil, err
		}
		c, err := p.in(left)
		if err != nil {
			return nil, err
		}
		return negate(c), nil
	case p.accept("IN"):
		return p.in(left)
	case t.kind == tokSign && mirrored[t.text] != "":
		p.next()
		return p.comparison(left, t)
	}
	return &condition{value: left}, nil
}

func (p *parser) in(left *value) (*condition, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	c := &condition{op: "IN", value: left}
	for {
		lit, err := p.value()
		if err != nil {
			return nil, err
		}
		if lit.literal == nil {
			return nil, wrong(lit.at, "IN takes literals, not %s: %s", lit.text, useSQL)
		}
		c.list = append(c.list, lit.literal)
		if !p.accept(",") {
			return c, p.expect(")")
		}
	}
}

// comparison is a value with a literal; the literal goes to the right.
func (p *parser) comparison(left *value, sign token) (*condition, error) {
	right, err := p.value()
	if err != nil {
		return nil, err
	}
	op := mirrored[sign.text]
	switch {
	case left.literal != nil && right.literal == nil:
		return &condition{op: op, value: right, list: []*literal{left.literal}}, nil
	case left.literal == nil && right.literal != nil:
		return &condition{op: mirrored[op], value: left, list: []*literal{right.literal}}, nil
	}
	return nil, wrong(sign.at, "one side of %s must be a literal and the other not: %s", sign.text, useSQL)
}

// value reads a column, a literal or a cast, with "::" behind it.
func (p *parser) value() (*value, error) {
	start := p.peek()
	v, err := p.operand()
	if err != nil {
		return nil, err
	}
	for {
		v.at, v.text = start.at, strings.TrimSpace(p.text[start.at:p.peek().at])
		if !p.accept("::") {
			return v, nil
		}
		to, err := p.shortType()
		if err != nil {
			return nil, err
		}
		v = &value{cast: &castOf{of: v, to: to}}
	}
}

func (p *parser) operand() (*value, error) {
	t := p.next()
	switch {
	case t.kind == tokNumber || t.kind == tokText || t.is("TRUE") || t.is("FALSE"):
		return &value{literal: &literal{at: t.at, kind: t.kind, text: t.text}}, nil
	case t.is("-") || t.is("+"):
		n := p.next()
		if n.kind != tokNumber {
			return nil, wrong(t.at, "%q stands before a number only: %s", t.text, useSQL)
		}
		return &value{literal: &literal{at: t.at, kind: tokNumber, text: strings.TrimPrefix(t.text, "+") + n.text}}, nil
	case (t.is("DATE") || t.is("TIMESTAMP")) && p.peek().kind == tokText:
		text := p.next()
		return &value{literal: &literal{at: t.at, kind: tokText, text: text.text, of: strings.ToUpper(t.text)}}, nil
	case (t.is("CAST") || t.is("TRY_CAST")) && p.accept("("):
		return p.castCall(t.is("TRY_CAST"))
	case t.kind == tokWord || t.kind == tokQuoted:
		return p.column(t)
	}
	return nil, wrong(t.at, "a column or a literal expected, found %s (%s)", t, useSQL)
}

func (p *parser) column(first token) (*value, error) {
	v := &value{column: []string{first.text}}
	for p.accept(".") {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		v.column = append(v.column, name)
	}
	if t := p.peek(); t.is("(") {
		return nil, wrong(first.at, "%s(...) is not known here: %s", first.text, useSQL)
	}
	return v, nil
}

// castCall reads on behind "CAST(".
func (p *parser) castCall(try bool) (*value, error) {
	of, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AS"); err != nil {
		return nil, err
	}
	start, depth := p.peek().at, 0
	for {
		t := p.peek()
		switch {
		case t.kind == tokEnd:
			return nil, wrong(t.at, `")" expected, found the end`)
		case t.is("("):
			depth++
		case t.is(")") && depth > 0:
			depth--
		case t.is(")"):
			to, err := parseType(p.text[start:t.at], start)
			if err != nil {
				return nil, err
			}
			p.next()
			return &value{cast: &castOf{of: of, to: to, try: try}}, nil
		}
		p.next()
	}
}

// shortType is the type behind "::": a word, perhaps with "(...)".
func (p *parser) shortType() (arrow.DataType, error) {
	t := p.next()
	end := t.end
	if p.accept("(") {
		for !p.peek().is(")") && p.peek().kind != tokEnd {
			p.next()
		}
		end = p.peek().end
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	return parseType(p.text[t.at:end], t.at)
}

func parseType(text string, at int) (arrow.DataType, error) {
	s, err := schema.ParseDDL("c " + text)
	if err != nil || s.NumFields() != 1 {
		return nil, wrong(at, "%q is not a type", strings.TrimSpace(text))
	}
	return s.Field(0).Type, nil
}
