package avro

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/codec/registry"
	"microbatch/internal/errcode"
)

// Options of the format: exactly one of them is given.
type Options struct {
	Schema   *Schema          // of all messages, which are bodies without an id
	Registry *registry.Client // that keeps the schemas; messages begin with their schema's id
}

// Format is Avro, one record a message; it implements codec.Messages. It may be used by many goroutines.
type Format struct {
	options Options

	mu      sync.Mutex
	schemas map[uint32]*Schema // of the registry, by id (A3)
}

var _ codec.Messages = (*Format)(nil)

// New makes the format. Nothing is asked for before the first message.
func New(o Options) (*Format, error) {
	if (o.Schema == nil) == (o.Registry == nil) {
		return nil, errcode.AvroSchema.New("", "avro: want either a schema of all messages, or the registry that keeps their schemas")
	}
	return &Format{options: o, schemas: map[uint32]*Schema{}}, nil
}

// Kind is "avro", with a digest of the schema if there is one: another schema would make other rows of the same bytes.
func (f *Format) Kind() string {
	if f.options.Schema == nil {
		return "avro"
	}
	return fmt.Sprintf("avro %x", sha256.Sum256([]byte(f.options.Schema.Text())))
}

// Output is the declared schema.
func (f *Format) Output(schema *arrow.Schema) (*arrow.Schema, error) {
	columns, err := column.New(schema, memory.DefaultAllocator)
	if err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "avro")
	}
	if f.options.Schema != nil {
		if err := compile(f.options.Schema, columns.Cols()).fault(); err != nil {
			return nil, err
		}
	}
	return schema, nil
}

// Infer gives the columns of the schema, or with a registry those of the newest schema, the one with the highest id, that a message of the sample has.
func (f *Format) Infer(sample [][]byte) (*arrow.Schema, error) {
	if f.options.Schema != nil {
		return f.options.Schema.Columns()
	}
	newest, found := uint32(0), false
	for _, msg := range sample {
		if id, ok := schemaID(msg); ok && id >= newest {
			newest, found = id, true
		}
	}
	if !found {
		return nil, errcode.RowInfer.New("", "avro: none of the %d messages begins with the id of a schema (a 0 byte and four more)", len(sample))
	}
	s, err := f.schema(newest)
	if err != nil {
		return nil, err
	}
	return s.Columns()
}

// NewDecoder makes a decoder for the declared schema.
func (f *Format) NewDecoder(schema *arrow.Schema, alloc memory.Allocator) (codec.Decoder, error) {
	if _, err := f.Output(schema); err != nil {
		return nil, err
	}
	columns, err := column.New(schema, alloc)
	if err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "avro")
	}
	d := &decoder{format: f, columns: columns, programs: map[uint32]*node{}}
	if f.options.Schema != nil {
		d.program = compile(f.options.Schema, columns.Cols())
	}
	return d, nil
}

// headerBytes is how long a message is in front of its body, where a registry keeps the schema.
const headerBytes = 5

// schemaID is the id that a message begins with, if it does.
func schemaID(msg []byte) (id uint32, ok bool) {
	if len(msg) < headerBytes || msg[0] != 0 {
		return 0, false
	}
	return binary.BigEndian.Uint32(msg[1:]), true
}

// patience bounds how long a decoder waits for a schema: it cannot be told to stop meanwhile. The batch is tried again later.
const patience = 10 * time.Second

// schema is the schema of an id, asked for once.
func (f *Format) schema(id uint32) (*Schema, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.schemas[id]; ok {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	text, references, err := f.options.Registry.ByID(ctx, int(id))
	if err != nil {
		return nil, err
	}
	s, err := Parse(text, references...)
	if err != nil {
		return nil, fmt.Errorf("schema %d of the registry: %w", id, err)
	}
	f.schemas[id] = s
	return s, nil
}
