package objstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Prefix is the part of a store below dir, as a store of its own: key k of it is dir/k.
func Prefix(s Store, dir string) Store {
	dir = strings.Trim(dir, "/")
	if dir == "" {
		return s
	}
	return prefixed{s, dir + "/"}
}

type prefixed struct {
	Store
	dir string // ends in a slash
}

func (p prefixed) URL() string {
	return strings.TrimSuffix(p.Store.URL(), "/") + "/" + strings.TrimSuffix(p.dir, "/")
}

func (p prefixed) Get(ctx context.Context, key string) ([]byte, error) {
	return p.Store.Get(ctx, p.dir+key)
}

func (p prefixed) Open(ctx context.Context, key string) (Object, error) {
	return p.Store.Open(ctx, p.dir+key)
}

func (p prefixed) Stat(ctx context.Context, key string) (Info, error) {
	info, err := p.Store.Stat(ctx, p.dir+key)
	info.Key = key
	return info, err
}

func (p prefixed) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return p.Store.PutIfAbsent(ctx, p.dir+key, data)
}

func (p prefixed) Put(ctx context.Context, key string, data []byte) error {
	return p.Store.Put(ctx, p.dir+key, data)
}

func (p prefixed) Create(ctx context.Context, key string) (Writer, error) {
	return p.Store.Create(ctx, p.dir+key)
}

func (p prefixed) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	if after != "" {
		after = p.dir + after
	}
	return func(yield func(Info, error) bool) {
		for info, err := range p.Store.List(ctx, p.dir+prefix, after) {
			info.Key = strings.TrimPrefix(info.Key, p.dir)
			if !yield(info, err) {
				return
			}
		}
	}
}

func (p prefixed) Delete(ctx context.Context, key string) error {
	return p.Store.Delete(ctx, p.dir+key)
}

func (p prefixed) Sync(ctx context.Context, key string) error {
	return p.Store.Sync(ctx, p.dir+key)
}

func (p prefixed) Lock(ctx context.Context, key string) (io.Closer, error) {
	return p.Store.Lock(ctx, p.dir+key)
}

// ValidKey returns an error unless key is relative and clean: attacker-made names must not leave the store.
func ValidKey(key string) error {
	if key == "" || strings.HasPrefix(key, "/") || strings.HasSuffix(key, "/") || strings.ContainsRune(key, 0) {
		return fmt.Errorf("objstore: invalid key %q", key)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("objstore: invalid key %q", key)
		}
	}
	return nil
}
