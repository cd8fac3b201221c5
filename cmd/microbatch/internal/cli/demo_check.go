package cli

import (
	"context"
	"fmt"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
	"microbatch/sources/orders"
)

// check compares what DuckDB reads from the Parquet files with what was generated.
func (d *demo) check(ctx context.Context) (err error) {
	session, err := duck.Open(duck.Config{Files: true, TempDir: d.dir})
	if err != nil {
		return err
	}
	defer session.Close()
	conn, err := session.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	want := orders.Expect(demoSeed, d.rows)
	from := " FROM read_parquet(" + duck.Literal(d.path("orders")+"/**/*.parquet") + ")"
	wrong := 0
	d.say("   %-34s %14s %14s", "", "generated", "in the table")
	for _, c := range []struct {
		what, sql string
		want      int64
	}{
		{"events", "SELECT count(*)" + from, want.Events},
		{"different orders", "SELECT count(DISTINCT order_id)" + from, want.Orders},
		{"orders that the shop sent twice", "SELECT count(*) FROM (SELECT order_id" + from + " GROUP BY order_id HAVING count(*) = 2)", want.Duplicates},
		{"orders that are there more often", "SELECT count(*) FROM (SELECT order_id" + from + " GROUP BY order_id HAVING count(*) > 2)", 0},
		{"sum of all amounts, in cents", "SELECT (100 * sum(amount))::BIGINT" + from, want.Cents},
	} {
		have, err := conn.Text(ctx, "SELECT ("+c.sql+")::VARCHAR")
		if err != nil {
			return err
		}
		mark := "ok"
		if have != fmt.Sprint(c.want) {
			mark = "WRONG"
			wrong++
		}
		d.say("   %-34s %14d %14s  %s", c.what, c.want, have, mark)
	}
	if wrong > 0 {
		return errcode.DemoFailed.New(d.dir, "%d of the counts differ", wrong)
	}
	return nil
}
