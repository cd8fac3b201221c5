//go:build cgo && duckdb_arrow

package duck

/*
void duckListGive(void *, void *, void *);
typedef void (*duck_callback_3)(void *, void *, void *);
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"slices"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// listFunction is the function behind a List: listFunction(handle of the list).
const listFunction = "__microbatch_list"

// List is a constant of texts in a connection's SQL, which DuckDB asks for whenever it binds a statement. As a literal, a hundred thousand would take the parser
// long.
//
// DuckDB binds a statement when it is prepared, and once more when it is executed, if it reads files. Where the first text stands for all in whatever a plan
// depends on, the preparing gets it alone. Only a plan that was bound to all texts is run: TestAListIsWholeInWhateverRuns.
//
// A query for the first row of 100,000 files takes 0.86 s of processor time by that, and took 1.16 s with the files in a variable of DuckDB and two whole
// bindings. 0.60 s of it read the log.
type List struct {
	conn   *Conn
	texts  []string
	alike  bool // the first stands for all
	short  bool // the last plan has the first alone
	handle cgo.Handle
}

// List makes a list of texts, which are not copied. alike says that in place of all of them the first will do for a statement that is not run. The caller
// drops it before the connection is closed.
func (c *Conn) List(texts []string, alike bool) *List {
	l := &List{conn: c, texts: texts, alike: alike}
	l.handle = cgo.NewHandle(l)
	c.lists = append(c.lists, l)
	return l
}

// SQL is the list as an expression.
func (l *List) SQL() string { return fmt.Sprintf("%s(%d)", listFunction, l.handle) }

// Drop removes the list. Nothing in the SQL names it any more.
func (l *List) Drop() {
	l.conn.lists = slices.DeleteFunc(l.conn.lists, func(other *List) bool { return other == l })
	l.handle.Delete()
}

// given is the list for the plan that is being made.
func (l *List) given() []string {
	if l.short = l.conn.preparing && l.alike && len(l.texts) > 1; l.short {
		return l.texts[:1]
	}
	return l.texts
}

// Set gives the list other texts, for statements from now on.
func (l *List) Set(texts []string) { l.texts = texts }

// short says whether the last plan lacks texts of a list.
func (c *Conn) short() bool {
	return slices.ContainsFunc(c.lists, func(l *List) bool { return l.short })
}

// prepareShort is prepare with the lists' first texts where they will do.
func (c *Conn) prepareShort(sql string) (mapping.PreparedStatement, error) {
	for _, l := range c.lists {
		l.short = false
	}
	c.preparing = true
	defer func() { c.preparing = false }()
	return c.prepare(sql)
}

// registerList makes the function known to all connections of the session.
func (c *Conn) registerList() error {
	f := mapping.CreateScalarFunction()
	defer mapping.DestroyScalarFunction(&f)
	bigint, text := mapping.CreateLogicalType(mapping.TypeBigInt), mapping.CreateLogicalType(mapping.TypeVarchar)
	defer mapping.DestroyLogicalType(&bigint)
	defer mapping.DestroyLogicalType(&text)
	list := mapping.CreateListType(text)
	defer mapping.DestroyLogicalType(&list)
	mapping.ScalarFunctionSetName(f, listFunction)
	mapping.ScalarFunctionAddParameter(f, bigint)
	mapping.ScalarFunctionSetReturnType(f, list)
	mapping.ScalarFunctionSetFunction(f, unsafe.Pointer(C.duck_callback_3(C.duckListGive)))
	if mapping.RegisterScalarFunction(c.conn, f) == mapping.StateError {
		return fmt.Errorf("duckdb: function %s is refused", listFunction)
	}
	return nil
}

// duckListGive fills the vector of lists with the list that each row's handle names.
//
//export duckListGive
func duckListGive(p, in, out unsafe.Pointer) {
	info, chunk, lists := mapping.FunctionInfo{Ptr: p}, mapping.DataChunk{Ptr: in}, mapping.Vector{Ptr: out}
	defer catch(func(text string) { mapping.ScalarFunctionSetError(info, text) })
	rows := int(mapping.DataChunkGetSize(chunk))
	handles := unsafe.Slice((*int64)(mapping.VectorGetData(mapping.DataChunkGetVector(chunk, 0))), rows)
	entries := unsafe.Slice((*[2]uint64)(mapping.VectorGetData(lists)), rows) // offset and length
	size := 0
	for row, h := range handles {
		texts := cgo.Handle(h).Value().(*List).given()
		if mapping.ListVectorReserve(lists, mapping.IdxT(size+len(texts))) == mapping.StateError {
			panic(errors.New("no memory for a list"))
		}
		child := mapping.ListVectorGetChild(lists)
		for i, text := range texts {
			mapping.VectorAssignStringElement(child, mapping.IdxT(size+i), text)
		}
		entries[row] = [2]uint64{uint64(size), uint64(len(texts))}
		size += len(texts)
		mapping.ListVectorSetSize(lists, mapping.IdxT(size))
	}
}
