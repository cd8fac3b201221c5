package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
)

// TestTheDemoSaysWhenItsCountsDiffer lets it count a table that lacks nearly everything.
func TestTheDemoSaysWhenItsCountsDiffer(t *testing.T) {
	d := &demo{std: IO{Out: io.Discard}, dir: t.TempDir(), rows: 10}
	if err := os.Mkdir(d.path("orders"), 0o777); err != nil {
		t.Fatal(err)
	}
	session, err := duck.Open(duck.Config{Files: true, TempDir: d.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	conn, err := session.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	to := duck.Literal(filepath.Join(d.path("orders"), "part-0.parquet"))
	if err := conn.Exec(t.Context(), "COPY (SELECT 'ord-1' AS order_id, 1.00::DECIMAL(10,2) AS amount) TO "+to+" (FORMAT parquet)"); err != nil {
		t.Fatal(err)
	}
	if err := d.check(t.Context()); !errcode.Has(err, errcode.DemoFailed) {
		t.Errorf("error %v", err)
	}
}
