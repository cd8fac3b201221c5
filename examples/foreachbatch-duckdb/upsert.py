"""Upserts one batch of a microbatch query into a DuckDB table, exactly once.

    upsert.py DATABASE TABLE KEY[,KEY...] ORDER

The rows of the batch come as an Arrow IPC stream on standard input. For each key the row with the highest ORDER column wins, within the
batch and against what the table holds, so late rows change nothing.

The same batch may be passed again after a crash, so the batch id is written to a ledger in the same transaction as the rows. A batch that the
ledger knows is skipped: that is what makes "at least once" exactly once.
"""

import os
import sys

import duckdb
import pyarrow as pa

LEDGER = """
CREATE TABLE IF NOT EXISTS microbatch_ledger (
    query_id VARCHAR, batch_id BIGINT, digest VARCHAR, row_count BIGINT, applied_at TIMESTAMP DEFAULT current_localtimestamp()
)"""


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def main(database, table, keys, order):
    query = os.environ["MICROBATCH_QUERY_ID"]
    batch_id = int(os.environ["MICROBATCH_BATCH_ID"])
    digest = os.environ["MICROBATCH_DIGEST"]

    db = duckdb.connect(database)
    db.execute("BEGIN")
    db.execute(LEDGER)
    applied = db.execute("SELECT digest FROM microbatch_ledger WHERE query_id = ? AND batch_id = ?", [query, batch_id]).fetchone()
    if applied:
        if applied[0] != digest:
            sys.exit(f"batch {batch_id} is in the ledger with other content: does another checkpoint write to {database}?")
        print(f"batch {batch_id}: applied before, skipped")
        return

    with pa.ipc.open_stream(sys.stdin.buffer) as rows:
        count = upsert(db, rows, quote(table), [quote(k) for k in keys], quote(order))
    db.execute("INSERT INTO microbatch_ledger (query_id, batch_id, digest, row_count) VALUES (?, ?, ?, ?)", [query, batch_id, digest, count])
    db.execute("COMMIT")
    print(f"batch {batch_id}: {count} rows")


def upsert(db, rows, table, keys, order):
    same = " AND ".join(f"t.{k} IS NOT DISTINCT FROM n.{k}" for k in keys)
    db.register("batch", rows)
    db.execute("CREATE TEMP TABLE incoming AS SELECT * FROM batch")
    db.execute(f"""
        CREATE TEMP TABLE newest AS SELECT * FROM incoming
        QUALIFY row_number() OVER (PARTITION BY {", ".join(keys)} ORDER BY {order} DESC) = 1""")
    db.execute(f"CREATE TABLE IF NOT EXISTS {table} AS SELECT * FROM newest LIMIT 0")
    db.execute(f"DELETE FROM {table} AS t USING newest AS n WHERE {same} AND t.{order} <= n.{order}")
    db.execute(f"INSERT INTO {table} BY NAME SELECT * FROM newest AS n WHERE NOT EXISTS (SELECT 1 FROM {table} AS t WHERE {same})")
    return db.execute("SELECT count(*) FROM incoming").fetchone()[0]


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
