# Filters at the edges of statistics: readers skip files by them, and must find the same rows as in the rows themselves.
import datetime, math
from decimal import Decimal
from pyspark.sql import functions as F
import alltypes, deltalake, pyarrow as pa, pyarrow.compute as pc, readers

OPS = ["=", "<", "<=", ">", ">="]
OP = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


def literal(v, kind, reader):
    if isinstance(v, datetime.datetime):
        text = v.isoformat().replace("+00:00", "Z")
        return f"arrow_cast('{text}', 'Timestamp(Microsecond, Some(\"UTC\"))')" if reader == "datafusion" else f"TIMESTAMPTZ '{text}'"
    if isinstance(v, datetime.date):
        return f"DATE '{v}'"
    if isinstance(v, str):
        return "'" + v.replace("'", "''") + "'"
    if isinstance(v, float):
        return f"CAST('{v}' AS DOUBLE)"
    return f"CAST('{v:f}' AS DECIMAL({kind.precision}, {kind.scale}))" if isinstance(v, Decimal) else str(v)


def spark_literal(v):
    if isinstance(v, datetime.date):  # Java knows no year 1 as PySpark writes it
        return F.lit(v.isoformat()).cast("timestamp" if isinstance(v, datetime.datetime) else "date")
    return F.lit(v)


def edges(column):
    """The values of a column that filters are made of. DataFusion tells -0.0 from 0.0, and texts with NUL cannot be written."""
    return sorted(v for v in set(column.to_pylist()) - {None} if v == v and not (isinstance(v, float) and v == 0) and not (isinstance(v, str) and "\x00" in v))


def agree(what, want, got):
    wrong = [f"{k} gives {got[k]}, want {want[k]}" for k in want if want[k] != got.get(k)]
    print(f"differs {what}: {'; '.join(wrong)[:2000]}" if wrong else f"same {what}")


for table, columns in args:
    rows = alltypes.kept["small"][1]
    con = readers.duck(delta=True)
    con.execute("CREATE TABLE truth AS FROM rows")  # filters on Arrow itself would be PyArrow's, to which NaN is nothing
    con.execute(f"ATTACH '{table}' AS d (TYPE delta, PIN_SNAPSHOT)")
    dt, parted = deltalake.DeltaTable(table), [c for c in columns if c.startswith("p_dec")]
    # deltalake 1.6.6 makes -9999999.-99 of a partition value -9999999.99
    dataset = None if parted else dt.to_pyarrow_dataset()
    fusion, frame = deltalake.QueryBuilder().register("t", dt), spark.read.format("delta").load(table)
    for c in columns:
        filters = [(op, v) for v in edges(rows[c]) for op in OPS]

        def counts(source, reader):
            return " UNION ALL ".join(f"SELECT {i} AS i, count(*) AS n FROM {source} WHERE {c} {op} {literal(v, rows[c].type, reader)}" for i, (op, v) in enumerate(filters))

        def named(pairs):
            return {f"{c} {filters[i][0]} {filters[i][1]!r}": n for i, n in pairs}

        want = named(con.sql(counts("truth", "duckdb")).fetchall())
        agree(f"{table} {c} delta_scan", want, named(con.sql(counts("d", "duckdb")).fetchall()))
        if c not in parted:
            found = pa.table(fusion.execute(counts("t", "datafusion")).read_all())
            agree(f"{table} {c} datafusion", want, named(zip(found["i"].to_pylist(), found["n"].to_pylist())))
        if dataset and not pa.types.is_floating(rows[c].type):
            kind = rows[c].type
            agree(f"{table} {c} pyarrow dataset", want, named((i, dataset.count_rows(filter=OP[op](pc.field(c), pa.scalar(v, kind)))) for i, (op, v) in enumerate(filters)))
        some = {i: f for i, f in enumerate(filters) if f[0] == "=" or i < len(OPS) or i >= len(filters) - len(OPS)}
        some = dict(list(some.items())[:: max(1, len(some) // 4)])  # Spark takes half a second for each
        scans = [frame.where({"=": col == spark_literal(v), "<": col < spark_literal(v), "<=": col <= spark_literal(v), ">": col > spark_literal(v), ">=": col >= spark_literal(v)}[op])
                 .agg(F.lit(i).alias("i"), F.count("*").alias("n")) for i, (op, v) in some.items() for col in [F.col(c)]]
        all_scans = scans[0]
        for s in scans[1:]:
            all_scans = all_scans.unionAll(s)
        got = named((r.i, r.n) for r in all_scans.collect())
        agree(f"{table} {c} spark", {k: want[k] for k in got}, got)
