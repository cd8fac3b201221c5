package crashfs

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// block is the unit in which unsynced content survives.
const block = 4096

// node is a file or a folder.
type node struct {
	mode     fs.FileMode
	modified time.Time

	data, synced []byte // a file's content now, and at its last sync

	names, kept map[string]*node // a folder's names now, and at its last sync
	changes     []change         // what led from kept to names
}

// change is one atomic change of a folder: names that appear (or, nil, disappear) together.
type change struct {
	names map[string]*node
	move  *move // of a name from one folder to another: the changes of both are one; nil for others
}

// move is what the two changes of a rename between folders share. As on file systems with a journal it is durable when either folder is synced, and a loss of
// power keeps both or none.
type move struct{ durable bool }

func newFile(perm fs.FileMode) *node { return &node{mode: perm, modified: time.Now()} }

func newFolder(perm fs.FileMode) *node {
	return &node{mode: fs.ModeDir | perm, modified: time.Now(), names: map[string]*node{}, kept: map[string]*node{}}
}

func (n *node) apply(c change) {
	patch(n.names, c)
	n.changes = append(n.changes, c)
	n.modified = time.Now()
}

func (n *node) sync() {
	if n.mode.IsDir() {
		for _, c := range n.changes {
			if c.move != nil {
				c.move.durable = true
			}
		}
		n.kept, n.changes = maps.Clone(n.names), nil
		return
	}
	n.synced = bytes.Clone(n.data)
}

func patch(names map[string]*node, c change) {
	for name, target := range c.names {
		if target == nil {
			delete(names, name)
		} else {
			names[name] = target
		}
	}
}

// crash copies a tree as it is after a loss of power. Each unsynced change survives with percent in a hundred.
type crash struct {
	random  *rand.Rand
	percent int
	copies  map[*node]*node // a file may have several names
	moves   map[*move]bool  // which of those that are not durable survive
}

func (c *crash) survives(ch change) bool {
	if ch.move == nil {
		return c.luck()
	}
	if _, decided := c.moves[ch.move]; !decided {
		c.moves[ch.move] = ch.move.durable || c.luck()
	}
	return c.moves[ch.move]
}

func (c *crash) luck() bool { return c.random.IntN(100) < c.percent }

func (c *crash) copy(n *node) *node {
	if done := c.copies[n]; done != nil {
		return done
	}
	out := &node{mode: n.mode, modified: n.modified}
	c.copies[n] = out
	if !n.mode.IsDir() {
		out.data = c.content(n)
		out.synced = bytes.Clone(out.data)
		return out
	}
	survived := maps.Clone(n.kept)
	for _, change := range n.changes {
		if c.survives(change) {
			patch(survived, change)
		}
	}
	out.names = make(map[string]*node, len(survived))
	for _, name := range slices.Sorted(maps.Keys(survived)) { // in an order that is repeatable, for the sake of chance
		out.names[name] = c.copy(survived[name])
	}
	out.kept = maps.Clone(out.names)
	return out
}

func (c *crash) content(n *node) []byte {
	if bytes.Equal(n.data, n.synced) || !c.luck() {
		return bytes.Clone(n.synced)
	}
	out := make([]byte, len(n.data)) // the new length has survived
	for at := 0; at < len(out); at += block {
		end := min(at+block, len(out))
		if c.luck() {
			copy(out[at:end], n.data[at:end])
		} else if at < len(n.synced) {
			copy(out[at:end], n.synced[at:])
		}
	}
	return out
}
