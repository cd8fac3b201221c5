//go:build cgo && duckdb_arrow

package duck

/*
#include <stdint.h>
#include <stdlib.h>

void duckScanBind(void *);
void duckScanInit(void *);
void duckScanNext(void *, void *);
void duckScanEnd(void *);
typedef void (*duck_callback_1)(void *);
typedef void (*duck_callback_2)(void *, void *);
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// vectorRows is how many rows a vector of DuckDB holds.
const vectorRows = 2048

// expectedRows is what the optimizer is told of a stream's length, which nobody knows.
const expectedRows = 100_000

// registerScan makes the table function known to all connections of the session.
func (c *Conn) registerScan() error {
	f := mapping.CreateTableFunction()
	defer mapping.DestroyTableFunction(&f)
	bigint := mapping.CreateLogicalType(mapping.TypeBigInt)
	defer mapping.DestroyLogicalType(&bigint)
	mapping.TableFunctionSetName(f, scanFunction)
	mapping.TableFunctionAddParameter(f, bigint)
	mapping.TableFunctionSupportsProjectionPushdown(f, true)
	mapping.TableFunctionSetBind(f, unsafe.Pointer(C.duck_callback_1(C.duckScanBind)))
	mapping.TableFunctionSetInit(f, unsafe.Pointer(C.duck_callback_1(C.duckScanInit)))
	mapping.TableFunctionSetFunction(f, unsafe.Pointer(C.duck_callback_2(C.duckScanNext)))
	if mapping.RegisterTableFunction(c.conn, f) == mapping.StateError {
		return fmt.Errorf("duckdb: table function %s is refused", scanFunction)
	}
	return nil
}

// scan is one execution of the table function: a query's way through the stream of a view.
type scan struct {
	view      *View
	columns   []int         // of the view, in DuckDB's order; -1 for a row id, which nobody looks at
	places    []int         // of the columns in the records of the source
	schema    *arrow.Schema // of the columns without row ids
	converted arrowmapping.ArrowConvertedSchema
	read      func() (arrow.RecordBatch, error)
	done      func()
	record    arrow.RecordBatch // of the schema
	at        int64             // rows of record that DuckDB has
	ended     bool
}

// duckScanBind declares the view's columns. Its bind data is the handle, in memory of C.
//
//export duckScanBind
func duckScanBind(p unsafe.Pointer) {
	info := mapping.BindInfo{Ptr: p}
	defer catch(func(text string) { mapping.BindSetError(info, text) })
	value := mapping.BindGetParameter(info, 0)
	defer mapping.DestroyValue(&value)
	h := mapping.GetInt64(value)
	for _, c := range cgo.Handle(h).Value().(*View).columns {
		mapping.BindAddResultColumn(info, c.field.Name, c.kind)
	}
	mapping.BindSetCardinality(info, expectedRows, false)
	mapping.BindSetBindData(info, newCell(cgo.Handle(h)), unsafe.Pointer(C.duck_callback_1(C.free)))
}

// duckScanInit learns which columns the query wants. A stream is one sequence, so one thread at a time pulls it.
//
//export duckScanInit
func duckScanInit(p unsafe.Pointer) {
	info := mapping.InitInfo{Ptr: p}
	defer catch(func(text string) { mapping.InitSetError(info, text) })
	view := cell(mapping.InitGetBindData(info)).Value().(*View)
	s := &scan{view: view, columns: make([]int, mapping.InitGetColumnCount(info))}
	for i := range s.columns {
		s.columns[i] = int(mapping.InitGetColumnIndex(info, mapping.IdxT(i)))
		if s.columns[i] < 0 || s.columns[i] >= len(view.columns) {
			s.columns[i] = -1
		}
	}
	if err := s.open(); err != nil {
		mapping.InitSetError(info, err.Error())
		return
	}
	mapping.InitSetMaxThreads(info, 1)
	mapping.InitSetInitData(info, newCell(cgo.NewHandle(s)), unsafe.Pointer(C.duck_callback_1(C.duckScanEnd)))
}

// duckScanNext fills DuckDB's next vectors; none at the end.
//
//export duckScanNext
func duckScanNext(p, out unsafe.Pointer) {
	info, chunk := mapping.FunctionInfo{Ptr: p}, mapping.DataChunk{Ptr: out}
	defer catch(func(text string) { mapping.FunctionSetError(info, text) })
	s := cell(mapping.FunctionGetInitData(info)).Value().(*scan)
	rows, err := s.next(chunk)
	if err != nil {
		s.view.err = err
		mapping.FunctionSetError(info, err.Error())
		return
	}
	mapping.DataChunkSetSize(chunk, mapping.IdxT(rows))
}

// duckScanEnd lets go of a record that the query left.
//
//export duckScanEnd
func duckScanEnd(p unsafe.Pointer) {
	h := cell(p)
	s := h.Value().(*scan)
	s.drop()
	s.done()
	arrowmapping.DestroyArrowConvertedSchema(&s.converted)
	h.Delete()
	C.free(p)
}

// open opens the view's source for the columns. A query that wants none, because it only counts, gets the first.
func (s *scan) open() error {
	var fields []arrow.Field
	for _, c := range s.columns {
		if c < 0 {
			continue
		}
		if s.view.whole {
			s.places = append(s.places, c)
		} else {
			s.places = append(s.places, len(fields))
		}
		fields = append(fields, s.view.columns[c].field)
	}
	s.schema = arrow.NewSchema(fields, nil)
	if len(fields) > 0 {
		converted, failure := arrowmapping.SchemaFromArrow(s.view.conn.conn, s.schema)
		if err := takeError(failure); err != nil {
			return fmt.Errorf("duckdb: %w", err)
		}
		s.converted = converted
	}
	s.read, s.done = func() (arrow.RecordBatch, error) { return nil, nil }, func() {}
	if s.view.source != nil {
		if len(fields) == 0 && len(s.view.columns) > 0 {
			fields = append(fields, s.view.columns[0].field)
		}
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		s.read, s.done = s.view.source(names)
	}
	return nil
}

// next puts up to vectorRows rows into chunk and says how many.
func (s *scan) next(chunk mapping.DataChunk) (int64, error) {
	for s.record == nil || s.at == s.record.NumRows() {
		s.drop()
		if s.ended {
			return 0, nil
		}
		rec, err := s.read()
		if rec == nil || err != nil {
			s.ended = true
			return 0, err
		}
		s.take(rec)
	}
	rows := min(vectorRows, s.record.NumRows()-s.at)
	if err := s.fill(chunk, rows); err != nil {
		return 0, err
	}
	s.at += rows
	return rows, nil
}

// take makes a record of the source the one to read from, with the columns that are wanted.
func (s *scan) take(rec arrow.RecordBatch) {
	defer rec.Release()
	columns := make([]arrow.Array, len(s.places))
	for i, place := range s.places {
		columns[i] = rec.Column(place)
	}
	s.record, s.at = array.NewRecordBatch(s.schema, columns, rec.NumRows()), 0
}

// fill makes the vectors of a chunk refer to rows of the record, whose buffers DuckDB reads in place and holds as long as it needs them. All columns are
// handed over at once: one by one, a query that reads eight columns and drops nearly all rows takes a third more processor time.
func (s *scan) fill(chunk mapping.DataChunk, rows int64) error {
	if len(s.places) == 0 {
		return nil
	}
	slice := s.record.NewSlice(s.at, s.at+rows)
	defer slice.Release()
	part := rebased(slice)
	defer part.Release()
	filled, failure := arrowmapping.DataChunkFromArrow(s.view.conn.conn, part, s.converted)
	if err := takeError(failure); err != nil {
		return fmt.Errorf("duckdb: %w", s.blame(part, err))
	}
	defer mapping.DestroyDataChunk(&filled)
	from := 0
	for to, column := range s.columns {
		if column >= 0 {
			mapping.VectorReferenceVector(mapping.DataChunkGetVector(chunk, mapping.IdxT(to)), mapping.DataChunkGetVector(filled, mapping.IdxT(from)))
			from++
		}
	}
	return nil
}

// blame names the column that DuckDB does not take: it is asked for one after the other.
func (s *scan) blame(rec arrow.RecordBatch, err error) error {
	columns := rec.Columns()
	for _, column := range s.columns {
		if column < 0 {
			continue
		}
		c := &s.view.columns[column]
		alone := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{c.field}, nil), columns[:1], rec.NumRows())
		columns = columns[1:]
		chunk, failure := arrowmapping.DataChunkFromArrow(s.view.conn.conn, alone, c.converted)
		alone.Release()
		mapping.DestroyDataChunk(&chunk)
		if refused := takeError(failure); refused != nil {
			return fmt.Errorf("column %s: %w", c.field.Name, refused)
		}
	}
	return err
}

func (s *scan) drop() {
	if s.record != nil {
		s.record.Release()
		s.record = nil
	}
}

// newCell puts a handle into memory of C, for DuckDB to carry around.
func newCell(h cgo.Handle) unsafe.Pointer {
	p := C.malloc(C.size_t(unsafe.Sizeof(h)))
	*(*cgo.Handle)(p) = h
	return p
}

func cell(p unsafe.Pointer) cgo.Handle { return *(*cgo.Handle)(p) }

// catch turns a panic into an error of the query: a panic may not cross C++.
func catch(fail func(text string)) {
	if p := recover(); p != nil {
		fail(fmt.Sprint("duckdb: stream: ", p))
	}
}
