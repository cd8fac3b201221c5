package avro

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/codec/registry"
	"microbatch/internal/errcode"
)

// ValuesOptions say by which schema rows become messages.
type ValuesOptions struct {
	Name   string  // the full name of the record of a schema that is made of the columns
	Schema *Schema // given; nil makes one of the columns

	Registry *registry.Client // that keeps the schema, so that messages begin with its id; nil: they are bodies without an id
	Subject  string           // under which it is registered
	LookUp   bool             // it must be registered already; false registers it
}

// Values makes messages of rows, for a sink. Its encoders may be used at once, each by one goroutine.
type Values struct {
	options ValuesOptions

	mu  sync.Mutex
	ids map[string]int // in the registry, by the text of the schema
}

// NewValues makes the values. Nothing is asked for before Check.
func NewValues(o ValuesOptions) *Values { return &Values{options: o, ids: map[string]int{}} }

// schema is the one that is given, or made of the columns.
func (v *Values) schema(rows *arrow.Schema) (*Schema, error) {
	if v.options.Schema != nil {
		return v.options.Schema, nil
	}
	return Derive(v.options.Name, rows)
}

// Encoder makes an encoder for rows. With a registry it refuses to write before the schema's id is known, by Check or Register.
func (v *Values) Encoder(rows *arrow.Schema) (codec.Encoder, error) {
	s, err := v.schema(rows)
	if err != nil {
		return nil, err
	}
	e, err := newEncoder(s, rows, nil)
	if err != nil || v.options.Registry == nil {
		return e, err
	}
	id, ok := v.id(s)
	if !ok {
		return unregistered{}, nil
	}
	e.prefix = binary.BigEndian.AppendUint32([]byte{0}, uint32(id))
	return e, nil
}

// unregistered stands for an encoder until the schema has an id: columns and schema fit.
type unregistered struct{}

// AppendRow is an error.
func (unregistered) AppendRow(dst []byte, _ arrow.RecordBatch, _ int) ([]byte, error) {
	return dst, errcode.RegistryUnregistered.New("", "the schema of the rows has no id yet")
}

func (v *Values) id(s *Schema) (id int, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, ok = v.ids[s.Text()]
	return id, ok
}

func (v *Values) know(s *Schema, id int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ids[s.Text()] = id
}

// Check asks the registry for the schema of rows: it is there, or it may be registered, is compatible, and would be. Nothing is written.
func (v *Values) Check(ctx context.Context, rows *arrow.Schema) error {
	s, err := v.schema(rows)
	if err != nil || v.options.Registry == nil {
		return err
	}
	id, found, err := v.options.Registry.Lookup(ctx, v.options.Subject, s.Text())
	switch {
	case err != nil:
		return err
	case found:
		v.know(s, id)
		return nil
	case v.options.LookUp:
		return errcode.RegistryUnregistered.New(v.options.Subject, "the registry at %s has no such schema under this subject: %s", v.options.Registry, s.Text())
	}
	return v.options.Registry.Compatible(ctx, v.options.Subject, s.Text())
}

// Register makes sure that the schema of rows is registered. Encoders that are made from then on write its id.
func (v *Values) Register(ctx context.Context, rows *arrow.Schema) error {
	s, err := v.schema(rows)
	if err != nil || v.options.Registry == nil {
		return err
	}
	if _, ok := v.id(s); ok {
		return nil
	}
	if v.options.LookUp {
		return v.Check(ctx, rows)
	}
	id, err := v.options.Registry.Register(ctx, v.options.Subject, s.Text())
	if err != nil {
		return err
	}
	v.know(s, id)
	return nil
}
