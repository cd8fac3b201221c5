package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// illegal are the characters that a column of a table without column mapping cannot have (Delta: invalid characters; Parquet of Spark too).
const illegal = " ,;{}()\n\t="

// CheckNames reports every column that a table cannot have: names that are empty, contain one of " ,;{}()\n\t=", or are equal but for case within
// their struct. Each line of the error is one column.
func CheckNames(s *arrow.Schema) error { return errors.Join(checkNames(s.Fields(), "")...) }

func checkNames(fields []arrow.Field, path string) []error {
	var errs []error
	for i, f := range fields {
		at := join(path, f.Name)
		if f.Name == "" {
			errs = append(errs, fmt.Errorf("column %d of %q has no name", i+1, path))
		}
		if k := strings.IndexAny(f.Name, illegal); k >= 0 {
			errs = append(errs, fmt.Errorf("column %q: a name cannot contain %q; rename it in a select or in the schema", at, f.Name[k]))
		}
		if first := find(fields, f.Name); first < i {
			errs = append(errs, fmt.Errorf("column %s: the name is taken by %s (names are compared without regard to case)", at, fields[first].Name))
		}
		errs = append(errs, checkNames(children(f.Type), at)...)
	}
	return errs
}
