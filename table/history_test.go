package table_test

import (
	"testing"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore/mem"
	"microbatch/schema"
	"microbatch/table"
)

// createOn makes a table whose clock the test moves.
func createOn(t *testing.T, now *time.Time) *table.Table {
	t.Helper()
	ddl, err := schema.ParseDDL("id BIGINT, p_str STRING")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := table.Create(t.Context(), mem.New(), table.Options{Now: func() time.Time { return *now }}, table.Definition{Schema: ddl})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

func TestTimeTravelByVersionAndByTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tbl := createOn(t, &now)
	for i := range 4 {
		now = now.Add(time.Hour)
		appendIDs(t, tbl, i)
	}
	for version := range int64(5) {
		at := time.Date(2026, 1, 1, int(version), 30, 0, 0, time.UTC)
		byVersion, err := tbl.At(t.Context(), version)
		if err != nil {
			t.Fatal(err)
		}
		byTime, err := tbl.AsOf(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if byTime.Version() != version || len(readRows(t, byVersion)) != int(version) || len(readRows(t, byTime)) != int(version) {
			t.Errorf("version %d: as of %s is version %d", version, at, byTime.Version())
		}
	}
	if _, err := tbl.AsOf(t.Context(), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)); !errcode.Has(err, errcode.TableVersion) {
		t.Errorf("before the table: %v", err)
	}
	history, err := tbl.History(t.Context(), 3)
	if err != nil || len(history) != 3 || history[0].Version != 4 || history[2].Version != 2 {
		t.Fatalf("history: %d commits, %v", len(history), err)
	}
	if added, removed, rows := history[0].Files(); added != 1 || removed != 0 || rows != 1 {
		t.Errorf("newest commit: %d added, %d removed, %d rows", added, removed, rows)
	}
	if all, err := tbl.History(t.Context(), 0); err != nil || len(all) != 5 {
		t.Errorf("whole history: %d commits, %v", len(all), err)
	}
}

// TestTimeTravelWhenTheClockWentBack: versions are dated by the clock of who committed them. As of a time is the newest version dated by then, so that a version from a
// clock that ran ahead hides nothing of what came after the clock was set right.
func TestTimeTravelWhenTheClockWentBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tbl := createOn(t, &now)
	for i, hour := range []int{1, 2, 90000, 3, 4} {
		now = time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)
		appendIDs(t, tbl, i)
	}
	for hour, version := range map[int]int64{0: 0, 1: 1, 2: 2, 3: 4, 4: 5, 89999: 5, 90000: 5} {
		snap, err := tbl.AsOf(t.Context(), time.Date(2026, 1, 1, hour, 30, 0, 0, time.UTC))
		if err != nil || snap.Version() != version {
			t.Errorf("half an hour after hour %d: version %d, %v; want %d", hour, snap.Version(), err, version)
		}
	}
	history, err := tbl.History(t.Context(), 0)
	if err != nil || len(history) != 6 {
		t.Fatalf("%d commits, %v", len(history), err)
	}
	for i, c := range history {
		if c.Version != int64(5-i) {
			t.Errorf("%d. in the history is version %d", i, c.Version)
		}
	}
}

func TestCreatingTwiceOpensTheFirst(t *testing.T) {
	store := mem.New()
	ddl, err := schema.ParseDDL("id BIGINT NOT NULL, s STRUCT<a: INT NOT NULL>")
	if err != nil {
		t.Fatal(err)
	}
	first, err := table.Create(t.Context(), store, table.Options{}, table.Definition{Schema: ddl})
	if err != nil {
		t.Fatal(err)
	}
	second, err := table.Create(t.Context(), store, table.Options{}, table.Definition{Schema: ddl})
	if err != nil || second.Snapshot().ID() != first.Snapshot().ID() {
		t.Fatalf("second: %v, %v", second, err)
	}
	if got := schema.FormatDDL(first.Snapshot().Schema()); got != "id BIGINT, s STRUCT<a: INT>" {
		t.Errorf("a new table has the schema %s: every column is to be nullable", got)
	}
	if p := first.Snapshot().State().Protocol; p.MinReader != 1 || p.MinWriter != 2 || p.WriterFeatures != nil {
		t.Errorf("protocol %+v", p)
	}
}

func TestTimestampsWithoutZoneNeedConsentInDelta(t *testing.T) {
	ddl, err := schema.ParseDDL("ts TIMESTAMP_NTZ, id BIGINT")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Create(t.Context(), mem.New(), table.Options{Format: "delta"}, table.Definition{Schema: ddl}); !errcode.Has(err, errcode.TableColumn) {
		t.Errorf("without consent: %v", err)
	}
	tbl, err := table.Create(t.Context(), mem.New(), table.Options{Format: "delta"}, table.Definition{
		Schema: ddl, Properties: map[string]string{"delta.feature.timestampNtz": "supported"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := tbl.Snapshot().State().Protocol; p.MinReader != 3 || p.MinWriter != 7 || len(p.ReaderFeatures) != 1 || len(p.WriterFeatures) != 3 {
		t.Errorf("protocol %+v", p)
	}
}
