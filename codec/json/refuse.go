package json

import (
	"bytes"
	"fmt"
	"strings"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// malformed refuses a row that is not JSON.
func (p *parser) malformed(i int, what string) int {
	p.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: fmt.Sprintf("malformed JSON: %s, at byte %d of the row", what, i-p.start)}
	return -1
}

// notUTF8 refuses a row for the string at i.
func (p *parser) notUTF8(i int) int { return p.malformed(i, "a string is not UTF-8") }

// tooDeep refuses a row whose nesting passes the limit.
func (p *parser) tooDeep(i int) int {
	p.reject = codec.Reject{Code: errcode.RowLimit.ID, Detail: fmt.Sprintf("objects and arrays stand in each other deeper than %d, at byte %d of the row", maxDepth, i-p.start)}
	return -1
}

// misfit refuses a row for a value that its column cannot hold. Texts are shown with quotes, other values without.
func (p *parser) misfit(f *field, value []byte) int {
	return p.refuse(errcode.RowMisfit, f, excerpt(value)+" is not "+f.col.Article())
}

// excerpt is the beginning of a JSON value for a message.
func excerpt(value []byte) string {
	if value[0] == '"' {
		return column.Excerpt(value[1 : len(value)-1])
	}
	shown := column.Excerpt(bytes.ReplaceAll(value, []byte(`"`), []byte("'")))
	if strings.HasSuffix(shown, "...") {
		return shown[1:len(shown)-4] + "..."
	}
	return shown[1 : len(shown)-1]
}

// refuse refuses a row for a column, with a sentence.
func (p *parser) refuse(code errcode.Code, f *field, detail string) int {
	p.reject = codec.Reject{Code: code.ID, Column: f.path, Detail: detail}
	return -1
}

// keepUnknown takes note of a member, its name and value, that is or holds a field without a column.
func (p *parser) keepUnknown(o *object, member []byte) {
	if o != p.root {
		p.inside = true
		return
	}
	p.inside = false
	if p.rescue == nil {
		return
	}
	if len(p.rescued) > 0 {
		p.rescued = append(p.rescued, ',')
	}
	p.rescued = append(p.rescued, member...)
}

// appendRescued appends the row's object of unknown fields, or null if it has none.
func (p *parser) appendRescued() {
	if len(p.rescued) == 0 {
		p.rescue.AppendNull()
		return
	}
	tail := p.rescue.Tail(len(p.rescued) + 2)
	tail[0] = '{'
	copy(tail[1:], p.rescued)
	tail[len(p.rescued)+1] = '}'
	p.rescue.CommitTail(len(p.rescued) + 2)
}
