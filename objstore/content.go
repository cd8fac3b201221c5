package objstore

import (
	"context"
	"fmt"
	"io"
)

// Content is what an object is to hold: bytes that need not be in memory.
type Content interface {
	// Size is the content's length in bytes.
	Size() int64
	// Reader begins to read the content. Readers are independent of each other; one that does not give Size bytes fails what it is read for.
	Reader() io.ReadSeeker
}

// ContentPutter is a store that takes large content piece by piece.
type ContentPutter interface {
	// PutContentIfAbsent is Store.PutIfAbsent for content that is read while it is written, and again where a request is repeated.
	PutContentIfAbsent(ctx context.Context, key string, content Content) error
	// PutContent is Store.Put for such content.
	PutContent(ctx context.Context, key string, content Content) error
}

// PutContentIfAbsent is Store.PutIfAbsent for content that may be large. A store that is no ContentPutter is given it in one piece.
func PutContentIfAbsent(ctx context.Context, s Store, key string, content Content) error {
	if p, ok := s.(ContentPutter); ok {
		return p.PutContentIfAbsent(ctx, key, content)
	}
	data, err := readWhole(content)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return s.PutIfAbsent(ctx, key, data)
}

// PutContent is Store.Put for content that may be large. A store that is no ContentPutter is given it in one piece.
func PutContent(ctx context.Context, s Store, key string, content Content) error {
	if p, ok := s.(ContentPutter); ok {
		return p.PutContent(ctx, key, content)
	}
	data, err := readWhole(content)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return s.Put(ctx, key, data)
}

// readWhole reads all of a content.
func readWhole(content Content) ([]byte, error) {
	data := make([]byte, content.Size())
	r := struct{ io.Reader }{content.Reader()} // Read alone: another method of its type may not do what that does
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	n, err := io.Copy(io.Discard, r) // what vouches for the content does so at its end
	if err == nil && n > 0 {
		err = fmt.Errorf("the content has more than %d bytes", len(data))
	}
	return data, err
}

// PutContentIfAbsent puts into the part of the store.
func (p prefixed) PutContentIfAbsent(ctx context.Context, key string, content Content) error {
	return PutContentIfAbsent(ctx, p.Store, p.dir+key, content)
}

// PutContent puts into the part of the store.
func (p prefixed) PutContent(ctx context.Context, key string, content Content) error {
	return PutContent(ctx, p.Store, p.dir+key, content)
}
