package avro

import "microbatch/internal/errcode"

// skip passes over a value and returns where it ends, -1 if the row is refused.
func (p *parser) skip(n *node, i int) int {
	switch n.op {
	case opSkipVarint:
		_, next := varint(p.msg, i)
		if next < 0 {
			return p.malformed(i, "a whole number is broken off or too large")
		}
		return next
	case opSkipBytes:
		v, next := varint(p.msg, i)
		if next < 0 || uint64(v) > uint64(len(p.msg)-next) {
			return p.malformed(i, "a string or bytes are broken off")
		}
		return next + int(v)
	case opSkipFixed:
		if len(p.msg)-i < n.size {
			return p.malformed(i, "a value is broken off")
		}
		return i + n.size
	case opSkipUnion:
		branch, next := varint(p.msg, i)
		if next < 0 || uint64(branch) >= uint64(len(n.kids)) {
			return p.malformed(i, "a union has no such branch")
		}
		return p.skip(n.kids[branch], next)
	case opSkipRecord:
		if p.depth++; p.depth > maxDepth {
			return p.refuse(errcode.RowLimit, n, "records stand in each other deeper than 1000")
		}
		begin := i
		for _, kid := range n.kids {
			if i = p.skip(kid, i); i < 0 {
				return i
			}
		}
		p.depth--
		if i == begin {
			if p.void++; p.void > maxVoid {
				return p.refuse(errcode.RowLimit, n, "there are more than a million records that take no bytes")
			}
		}
		return i
	default: // opSkipArray, opSkipMap
		return p.skipList(n, i)
	}
}

// skipList passes over the blocks of an array or a map; over those that say how long they are in one step.
func (p *parser) skipList(n *node, i int) int {
	for {
		if count, next := varint(p.msg, i); next >= 0 && count < 0 {
			length, next := varint(p.msg, next)
			if next < 0 || uint64(length) > uint64(len(p.msg)-next) {
				return p.malformed(i, "a block of elements is broken off")
			}
			i = next + int(length)
			continue
		}
		count, next := p.block(i)
		if i = next; i < 0 || count == 0 {
			return i
		}
		for ; count > 0; count-- {
			if n.op == opSkipMap {
				if i = p.skip(&node{op: opSkipBytes}, i); i < 0 {
					return i
				}
			}
			if i = p.skip(n.kids[0], i); i < 0 {
				return i
			}
		}
	}
}
