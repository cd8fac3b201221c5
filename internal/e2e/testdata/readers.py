# The readers of tables and data files that microbatch promises to serve, each as a function to an Arrow table, and the comparison.
import glob, os, urllib.parse
import deltalake, duckdb_extension_delta, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
import alltypes


def duck(delta=False):
    con = alltypes.duck()
    if delta:
        found = glob.glob(os.path.join(os.path.dirname(duckdb_extension_delta.__file__), "extensions", "*", "*.duckdb_extension"))
        con.execute(f"LOAD '{found[0]}'")
    return con


def data_files(table):
    return sorted(f for f in glob.glob(table + "/**/*.parquet", recursive=True) if "/_" not in f[len(table):] or "/_hidden" in f)


def quoted(paths):
    return "[" + ", ".join("'" + p.replace("'", "''") + "'" for p in paths) + "]"


def escaped(path):
    """Hadoop's globs, which spark.read.parquet takes its paths for."""
    return "".join("\\" + c if c in "{}[]*?\\^" else c for c in path)


def spark_delta(spark, table, columns):
    return spark.read.format("delta").load(table).select(columns).toArrow()


def spark_parquet(spark, table, columns):
    return spark.read.parquet(*[escaped(f) for f in data_files(table)]).select(columns).toArrow()


def delta_rs(spark, table, columns):
    return deltalake.DeltaTable(table).to_pyarrow_table().select(columns)


def delta_datafusion(spark, table, columns):
    names = ", ".join(columns)
    rows = pa.table(deltalake.QueryBuilder().register("t", deltalake.DeltaTable(table)).execute(f"SELECT {names} FROM t").read_all())
    return rows.cast(pa.schema([f.with_type(without_views(f.type)) for f in rows.schema]))


def without_views(t):
    """The type with plain texts and bytes in place of views, which PyArrow cannot sort."""
    if pa.types.is_struct(t):
        return pa.struct([f.with_type(without_views(f.type)) for f in t])
    if pa.types.is_map(t):
        return pa.map_(without_views(t.key_type), without_views(t.item_type))
    if pa.types.is_list(t):
        return pa.list_(without_views(t.value_type))
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(t, t)


def delta_scan(spark, table, columns):
    return duck(delta=True).sql(f"SELECT {', '.join(columns)} FROM delta_scan('{table}')").to_arrow_table()


def duck_parquet(spark, table, columns):
    return duck().sql(f"SELECT {', '.join(columns)} FROM read_parquet({quoted(data_files(table))}, hive_partitioning = false)").to_arrow_table()


def pyarrow_parquet(spark, table, columns):
    return pa.concat_tables([pq.ParquetFile(f).read(columns=columns) for f in data_files(table)])


OF_TABLES = [spark_delta, delta_rs, delta_datafusion, delta_scan]
OF_FILES = [spark_parquet, duck_parquet, pyarrow_parquet]


def difference(want, got, key="id"):
    """How two tables differ, "" if they do not. Rows are paired by the key; NaN equals NaN and -0.0 is not 0.0."""
    if want.num_rows != got.num_rows:
        return f"{got.num_rows} rows, want {want.num_rows}"
    want, got = want.sort_by(key), got.sort_by(key)
    for name in want.column_names:
        a, b = want[name].combine_chunks(), got[name].combine_chunks()
        kind = a.type
        if pa.types.is_timestamp(kind) and (kind.tz is None) != (b.type.tz is None) or pa.types.is_integer(kind) and kind != b.type or pa.types.is_decimal(kind) and kind != b.type:
            return f"column {name} is {b.type}, want {kind}"
        same, bits = b.cast(kind), {pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(kind)
        if same.view(bits).equals(a.view(bits)) if bits else same.equals(a):
            continue
        a, b = a.to_pylist(), b.to_pylist()
        for i in range(len(a)):
            if repr(plain(a[i])) != repr(plain(b[i])):
                return f"column {name}, {key} {want[key][i]}: {b[i]!r}, want {a[i]!r}"
    return ""


def plain(v):
    """A value without what readers may choose: the order of a map's entries, the class of a time zone."""
    if isinstance(v, list):
        if v and all(isinstance(x, tuple) for x in v):
            return sorted((k, repr(plain(x))) for k, x in v)
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    return v.astimezone(alltypes.UTC) if hasattr(v, "tzinfo") and v.tzinfo else v


def compare(what, want, read):
    """Prints a verdict: whether read() is the table want."""
    try:
        how = difference(want, read())
    except Exception as e:
        how = f"{type(e).__name__}: {str(e)[:1500]}".replace("\n", " ")
    print(f"differs {what}: {how}" if how else f"same {what}", flush=True)
