package schema

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Canonical is the schema in which rows of an Arrow schema from elsewhere (DuckDB, a Parquet file, a program) are stored: the same names and
// nullability, children of lists and maps under their canonical names, a zone of timestamps as UTC. A type that has no counterpart is an error, which lists all.
// The memory layout is the same: a record of s is a record of Canonical(s) under other names.
func Canonical(s *arrow.Schema) (*arrow.Schema, error) {
	c := canonizer{}
	fields := c.fields(s.Fields(), "")
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return arrow.NewSchema(fields, nil), nil
}

type canonizer struct{ errs []error }

func (c *canonizer) fields(in []arrow.Field, path string) []arrow.Field {
	out := make([]arrow.Field, len(in))
	for i, f := range in {
		f.Type = c.dataType(f.Type, join(path, f.Name))
		out[i] = f
	}
	return out
}

func (c *canonizer) dataType(t arrow.DataType, path string) arrow.DataType {
	if nested(t) {
		return rebuild(t, c.fields(children(t), path))
	}
	ddl, _, ok := scalarNames(t)
	if !ok {
		c.errs = append(c.errs, fmt.Errorf("column %s: the type %s has no counterpart in a table; cast it to one of the types of a schema", path, t))
		return t
	}
	if ddl == "TIMESTAMP" {
		return Timestamp()
	}
	return t
}
