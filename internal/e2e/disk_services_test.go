//go:build services && linux

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"microbatch/sources/orders"
)

// TestFullAndReadOnlyDisk runs a query on a disk that becomes full in the middle, then read-only, then large enough: each stop has its code, says what is safe
// and what to do, and at the end every event is in the table once. It needs root.
func TestFullAndReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	disk := func(flags uintptr, options string) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
			t.Fatalf("mount a tmpfs: %v", err)
		}
	}
	disk(0, "size=1500k")
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	const rows = 200_000
	file := write(t, t.TempDir(), "microbatch.yaml", fmt.Sprintf("name: orders\nsource:\n  orders: {rows: %d, rows_per_second: 0}\nsink:\n  table: {path: %s/table}\ncheckpoint: %s/checkpoint\ntrigger: {max_rows: 10000}\n", rows, dir, dir))
	refused := func(what string, exit int, code string) {
		t.Helper()
		got, out := exitOf(t, "start", file, "--once")
		if got != exit || !strings.Contains(out, code) || !strings.Contains(out, "safe: ") || !strings.Contains(out, "next: ") {
			t.Fatalf("%s: exit code %d, want %d with %s:\n%s", what, got, exit, code, out)
		}
	}
	refused("full", 1, "MB1301")
	refused("still full", 1, "MB1301")
	whole := duckText(t, "SELECT count(*) % 10000 FROM read_parquet('"+dir+"/table/**/*.parquet')")
	if whole != "0" {
		t.Errorf("%s rows are of a batch that is not whole", whole)
	}
	disk(syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=100m")
	refused("read-only", 2, "MB1302")
	disk(syscall.MS_REMOUNT, "size=100m")
	if code, out := exitOf(t, "start", file, "--once"); code != 0 {
		t.Fatalf("with space again: exit code %d:\n%s", code, out)
	}
	want := orders.Expect(1, rows)
	got := duckText(t, "SELECT count(*) || ' ' || count(DISTINCT order_id) || ' ' || (sum(amount) * 100)::BIGINT FROM read_parquet('"+dir+"/table/**/*.parquet')")
	if got != fmt.Sprintf("%d %d %d", want.Events, want.Orders, want.Cents) {
		t.Errorf("the table holds %s, want %+v", got, want)
	}
}
