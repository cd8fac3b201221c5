package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"microbatch/sources/orders"
)

// ordersWorld is a pipeline of generated orders, ten in a batch. It can be copied, since no path is part of what its checkpoint knows.
type ordersWorld struct {
	*world
	batches int
}

const ordersPerBatch = 10

// orderPipeline writes the pipeline file for so many batches.
func (w *ordersWorld) orderPipeline(batches int, sink string) {
	w.t.Helper()
	w.batches = batches
	w.file = write(w.t, w.dir, "p.yaml", fmt.Sprintf(`name: p
source:
  orders: {rows: %d, rows_per_second: 0}
sink:
  %s
checkpoint: checkpoint
trigger: {max_rows: %d}
`, batches*ordersPerBatch, sink, ordersPerBatch))
}

const ordersTable = `table: {path: table, properties: {delta.checkpointInterval: "3"}}`

// exactOrders says that each event is in the table once, and that checkpoint and table are in order.
func (w *ordersWorld) exactOrders() {
	w.t.Helper()
	want := orders.Expect(1, int64(w.batches*ordersPerBatch))
	got := w.query("SELECT count(*) || ' ' || count(DISTINCT order_id) || ' ' || (sum(amount) * 100)::BIGINT AS f FROM p")
	if got != fmt.Sprintf("f\n%d %d %d", want.Events, want.Orders, want.Cents) {
		w.t.Errorf("the table holds %q, want %+v", got, want)
	}
	w.tableInOrder("table")
	w.checkpointInOrder()
}

// template is a folder that is filled once and copied for each trial.
type template struct {
	once sync.Once
	dir  string
	err  error
}

func (p *template) copy(t *testing.T, fill func(w *ordersWorld)) *ordersWorld {
	t.Helper()
	p.once.Do(func() {
		p.dir, p.err = os.MkdirTemp("", "microbatch-e2e-")
		if p.err == nil {
			fill(&ordersWorld{world: &world{t: t, dir: p.dir, root: p.dir, format: "parquet"}})
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	w := &ordersWorld{world: &world{t: t, dir: t.TempDir(), format: "parquet"}}
	w.root = w.dir
	if err := os.CopyFS(w.dir, os.DirFS(p.dir)); err != nil {
		t.Fatal(err)
	}
	w.file = filepath.Join(w.dir, "p.yaml")
	return w
}

// templates are shared by all trials of the test binary.
type templates struct{ purged, small, joined template }

var filled templates

// onOrders is a scenario on a copy of a template.
func onOrders(prepare func(t *testing.T) *ordersWorld, command func(w *world) []string, finish func(w *ordersWorld)) scenario {
	var made sync.Map // by the inner world
	return scenario{
		make: func(t *testing.T) *world {
			w := prepare(t)
			made.Store(w.world, w)
			return w.world
		},
		command: command,
		finish: func(w *world) {
			o, _ := made.LoadAndDelete(w)
			finish(o.(*ordersWorld))
		},
	}
}

func startOnce(w *world) []string { return []string{"start", w.file, "--once", "--progress", "none"} }

// purging is a query that has two hundred batches behind it: the next one purges half of them.
func purging() scenario {
	return onOrders(func(t *testing.T) *ordersWorld {
		w := filled.purged.copy(t, func(w *ordersWorld) {
			w.orderPipeline(200, ordersTable)
			w.catchUp()
		})
		w.orderPipeline(202, ordersTable)
		return w
	}, startOnce, func(w *ordersWorld) {
		w.orderPipeline(204, ordersTable)
		w.catchUp()
		w.exactOrders()
		entries, err := os.ReadDir(filepath.Join(w.dir, "checkpoint/offsets"))
		if err != nil || len(entries) > 150 {
			w.t.Errorf("%d entries are left of 204, %v", len(entries), err)
		}
	})
}

// fillSmall makes a table of twelve small files.
func fillSmall(w *ordersWorld) {
	w.orderPipeline(12, ordersTable)
	w.catchUp()
}

// cleaning is a query whose table's log is sixty days old and was last cleaned then.
func cleaning() scenario {
	return onOrders(func(t *testing.T) *ordersWorld {
		w := filled.small.copy(t, fillSmall)
		w.orderPipeline(14, ordersTable)
		w.age()
		return w
	}, startOnce, func(w *ordersWorld) {
		w.orderPipeline(16, ordersTable)
		w.catchUp()
		w.exactOrders()
	})
}

// optimizing joins the files of the table.
func optimizing() scenario {
	return onOrders(func(t *testing.T) *ordersWorld { return filled.small.copy(t, fillSmall) }, func(*world) []string {
		return []string{"table", "optimize", "table", "--force"}
	}, func(w *ordersWorld) {
		w.must("table", "optimize", "table", "--force")
		w.orderPipeline(14, ordersTable)
		w.catchUp()
		w.exactOrders()
		w.vacuumed()
	})
}

// vacuuming deletes the files that optimize has replaced.
func vacuuming() scenario {
	return onOrders(func(t *testing.T) *ordersWorld {
		return filled.joined.copy(t, func(w *ordersWorld) {
			fillSmall(w)
			w.must("table", "optimize", "table", "--force")
		})
	}, func(*world) []string {
		return []string{"table", "vacuum", "table", "--retain", "0s", "--force"}
	}, func(w *ordersWorld) {
		w.vacuumed()
		w.orderPipeline(14, ordersTable)
		w.catchUp()
		w.exactOrders()
	})
}

// vacuumed deletes what no version needs; after that a glob is the table again.
func (w *ordersWorld) vacuumed() {
	w.t.Helper()
	w.must("table", "vacuum", "table", "--retain", "0s", "--force")
	w.glob = true
	w.tableInOrder("table")
}

// staging makes batches folders of files.
func staging() scenario {
	return onOrders(func(t *testing.T) *ordersWorld {
		w := &ordersWorld{world: &world{t: t, dir: t.TempDir(), format: "parquet"}}
		w.root = w.dir
		w.orderPipeline(5, "files: {path: out}")
		return w
	}, startOnce, func(w *ordersWorld) {
		w.orderPipeline(6, "files: {path: out}")
		w.catchUp()
		w.checkpointInOrder()
		want := orders.Expect(1, int64(w.batches*ordersPerBatch))
		got := w.query("SELECT count(*) || ' ' || count(DISTINCT order_id) || ' ' || (sum(amount) * 100)::BIGINT AS f FROM read_json('" + w.dir + "/out/batch-*/*.ndjson')")
		if got != fmt.Sprintf("f\n%d %d %d", want.Events, want.Orders, want.Cents) {
			w.t.Errorf("the folders hold %q, want %+v", got, want)
		}
	})
}

// handing hands batches to a program that keeps what it is given, each time under another name.
func handing() scenario {
	const sink = `foreachbatch: {command: [sh, -c, "mkdir -p given && f=given/$MICROBATCH_QUERY_ID.$MICROBATCH_BATCH_ID.$$ && cat > $f.half && mv $f.half $f"]}`
	return onOrders(func(t *testing.T) *ordersWorld {
		w := &ordersWorld{world: &world{t: t, dir: t.TempDir(), format: "parquet"}}
		w.root = w.dir
		w.orderPipeline(5, sink)
		return w
	}, startOnce, func(w *ordersWorld) {
		w.orderPipeline(6, sink)
		w.catchUp()
		w.checkpointInOrder()
		w.handed()
	})
}

// handed says that the program was given each batch at least once, always under one query id, and the same rows each time; and that the batches are the input.
func (w *ordersWorld) handed() {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.dir, "given", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	batches, query := map[int][]byte{}, ""
	for _, name := range names {
		part := strings.Split(filepath.Base(name), ".")
		id, err := strconv.Atoi(part[1])
		if err != nil || len(part) != 3 || query != "" && part[0] != query {
			w.t.Errorf("given as %s", filepath.Base(name))
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			w.t.Fatal(err)
		}
		if before, again := batches[id]; again && !bytes.Equal(before, data) {
			w.t.Errorf("batch %d was given again with other rows", id)
		}
		query, batches[id] = part[0], data
	}
	rows := 0
	for id := range w.batches {
		rows += arrowRows(w.t, batches[id])
	}
	if rows != w.batches*ordersPerBatch || len(batches) != w.batches {
		w.t.Errorf("%d rows in %d batches were given, want %d batches of %d", rows, len(batches), w.batches, ordersPerBatch)
	}
}

// arrowRows counts the rows of an Arrow stream.
func arrowRows(t *testing.T, data []byte) (rows int) {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer r.Release()
	for r.Next() {
		rows += int(r.RecordBatch().NumRows())
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return rows
}
