package crashfs

import "bytes"

// Clone is a second disk with the same content, of which the same is unsynced. Nobody may be using the file system; neither the clone's locks nor its faults are
// the original's.
func (f *FS) Clone() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := cloning{nodes: map[*node]*node{}, moves: map[*move]*move{}}
	return &FS{root: c.node(f.root), locks: map[string]bool{}}
}

// cloning finds the clone of a node that has several names, and of a move that two folders share.
type cloning struct {
	nodes map[*node]*node
	moves map[*move]*move
}

func (c cloning) node(n *node) *node {
	if done := c.nodes[n]; done != nil {
		return done
	}
	out := &node{mode: n.mode, modified: n.modified, data: bytes.Clone(n.data), synced: bytes.Clone(n.synced)}
	c.nodes[n] = out
	if n.mode.IsDir() {
		out.names, out.kept = c.names(n.names), c.names(n.kept)
		for _, ch := range n.changes {
			out.changes = append(out.changes, change{c.names(ch.names), c.move(ch.move)})
		}
	}
	return out
}

func (c cloning) names(of map[string]*node) map[string]*node {
	out := make(map[string]*node, len(of))
	for name, n := range of {
		if n == nil { // a name that has gone
			out[name] = nil
			continue
		}
		out[name] = c.node(n)
	}
	return out
}

func (c cloning) move(m *move) *move {
	if m != nil && c.moves[m] == nil {
		c.moves[m] = &move{m.durable}
	}
	return c.moves[m]
}
