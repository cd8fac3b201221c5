# Has PyArrow, DuckDB and Spark write input files of each format, as differently as they can. Each file holds the rows of every type under ids of its own; what should
# come of a format is kept.
import gzip, json, os, re
import pyarrow as pa, pyarrow.compute as pc, pyarrow.csv as pcsv, pyarrow.parquet as pq
import alltypes, readers

folder = args[0]
rows, schema = alltypes.small()
rows = alltypes.table(rows, schema)
con = readers.duck()
made = {}


def part(kind, some):
    """The rows of the next file."""
    n = len(made.setdefault(kind, []))
    some = some.set_column(0, "id", pc.add(some["id"], 1000 * n))
    made[kind].append(some)
    return some


def duck_copy(some, path, options):
    con.register("written", some)
    con.execute(f"COPY (FROM written) TO '{path}' ({options})")


def spark_frame(some):
    return spark.createDataFrame(some).coalesce(1)


def within(some, lowest, highest):
    """Rows whose times are in the bounds that a format has."""
    for c in ["p_ts", "c_ts"]:
        some = some.filter(pc.or_kleene(pc.is_null(some[c]), pc.and_(pc.greater(some[c], pa.scalar(alltypes.at(lowest), alltypes.TS)), pc.less(some[c], pa.scalar(alltypes.at(highest), alltypes.TS)))))
    return some


# Parquet
os.makedirs(f"{folder}/parquet/sub dir")
int96 = within(rows, "1700-01-01T00:00:00", "2200-01-01T00:00:00").drop_columns(["c_deep"])
for n, (some, options) in enumerate([
        (rows, dict(compression="none", use_dictionary=False)), (rows, dict(compression="gzip", data_page_version="2.0")), (rows, dict(compression="brotli", row_group_size=7)),
        (rows, dict(compression="lz4", version="1.0")), (rows, dict(compression="zstd", data_page_version="2.0", data_page_size=64, write_page_index=True)),
        (rows, dict(compression="snappy", store_decimal_as_integer=True)), (int96, dict(use_deprecated_int96_timestamps=True)),
        (rows, dict(use_dictionary=False, column_encoding={"c_long": "DELTA_BINARY_PACKED", "c_int": "DELTA_BINARY_PACKED", "c_str": "DELTA_BYTE_ARRAY", "c_bin": "DELTA_LENGTH_BYTE_ARRAY",
            "c_double": "BYTE_STREAM_SPLIT", "c_float": "BYTE_STREAM_SPLIT", "c_dec38": "BYTE_STREAM_SPLIT", "c_bool": "RLE"})),
        (rows.set_column(17, "c_str", rows["c_str"].cast(pa.large_string())).set_column(1, "p_str", rows["p_str"].dictionary_encode()), {}),
        (rows.select(list(reversed(rows.column_names))).append_column("unknown", rows["c_struct"]), {}),
        (rows.slice(0, 0), {})]):
    numbered = part("parquet", some.select([c for c in rows.column_names if c in some.column_names]))
    some = some.set_column(some.column_names.index("id"), "id", numbered["id"])
    pq.write_table(some, f"{folder}/parquet/sub dir/pyarrow {n}.parquet", **options)
positive = rows  # DuckDB's dictionaries make 0.0 of -0.0
for c in ["c_float", "c_double"]:
    positive = positive.set_column(positive.column_names.index(c), c, pc.if_else(pc.equal(rows[c], 0), pa.scalar(0, rows[c].type), rows[c]))
for version, codec in [("v1", "snappy"), ("v2", "zstd"), ("v1", "gzip"), ("v2", "lz4_raw"), ("v2", "brotli")]:
    duck_copy(part("parquet", positive), f"{folder}/parquet/duckdb {version} {codec}.parquet", f"FORMAT parquet, PARQUET_VERSION {version}, COMPRESSION {codec}")
for n, conf in enumerate([{"outputTimestampType": "INT96"}, {"writeLegacyFormat": "true", "outputTimestampType": "TIMESTAMP_MICROS"}]):
    for k, v in conf.items():
        spark.conf.set(f"spark.sql.parquet.{k}", v)
    spark_frame(part("parquet", rows)).write.option("compression", ["snappy", "gzip"][n]).parquet(f"{folder}/parquet/spark {n}")
    for k in conf:
        spark.conf.unset(f"spark.sql.parquet.{k}")

# Text: no numbers that are not finite, which each writes in its own way
finite = rows
for c in ["c_float", "c_double"]:
    finite = finite.filter(pc.or_kleene(pc.is_null(finite[c]), pc.is_finite(finite[c])))
MICROS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"

# NDJSON, without bytes, for which DuckDB has its own text
os.makedirs(f"{folder}/json/sub")
plain = finite.drop_columns(["c_bin", "c_deep"])
for suffix, codec in [("", "uncompressed"), (".gz", "gzip"), (".zst", "zstd")]:
    duck_copy(part("json", plain), f"{folder}/json/duckdb.ndjson{suffix}", f"FORMAT json, COMPRESSION {codec}")
for codec in ["none", "gzip"]:
    spark_frame(part("json", plain)).write.option("compression", codec).option("timestampFormat", MICROS).json(f"{folder}/json/spark {codec}")
some = part("json", plain)
lines = [json.dumps({k: alltypes.plain(dict(v) if isinstance(v, list) and v and isinstance(v[0], tuple) else {} if k == "c_map" and v == [] else v) for k, v in row.items()}) + "\n" for row in some.to_pylist()]
with open(f"{folder}/json/sub/members.json.gz", "wb") as out:  # a member a line
    out.writelines(gzip.compress(line.encode()) for line in lines)
some = part("json", plain)
with pa.CompressedOutputStream(f"{folder}/json/sub/arrow.json.zst", "zstd") as out:
    out.write("".join(line.replace('"id": ' + str(i), '"id": ' + str(j), 1) for line, i, j in zip(lines, made["json"][-2]["id"].to_pylist(), some["id"].to_pylist())).encode())

# CSV: no nested columns. Spark's, with another way to quote, is a format of its own.
flat = plain.drop_columns(["c_arr", "c_map", "c_struct"])
os.makedirs(f"{folder}/csv"), os.makedirs(f"{folder}/sparkcsv")
pcsv.write_csv(part("csv", flat), f"{folder}/csv/pyarrow.csv")
with pa.CompressedOutputStream(f"{folder}/csv/pyarrow.csv.gz", "gzip") as out:
    pcsv.write_csv(part("csv", flat), out, pcsv.WriteOptions(batch_size=5, quoting_style="all_valid"))
for suffix, codec, more in [("", "uncompressed", ""), (".gz", "gzip", ", FORCE_QUOTE *"), (".zst", "zstd", "")]:
    duck_copy(part("csv", flat).select(list(reversed(flat.column_names))), f"{folder}/csv/duckdb.csv{suffix}", f"FORMAT csv, HEADER, COMPRESSION {codec}{more}")
for codec in ["none", "gzip"]:
    (spark_frame(part("sparkcsv", flat)).write.option("header", True).option("compression", codec).option("timestampFormat", MICROS).option("sep", "\t")
        .option("ignoreLeadingWhiteSpace", False).option("ignoreTrailingWhiteSpace", False).option("nullValue", "\\N").csv(f"{folder}/sparkcsv/{codec}"))

for kind, parts in made.items():
    alltypes.kept[f"in {kind}"] = None, pa.concat_tables([p.cast(pa.schema([schema.field(c) for c in p.column_names])) for p in parts], promote_options="default").select(
        [c for c in schema.names if c in parts[0].column_names])
ddl = dict(zip(schema.names, re.split(r",\s+(?=[pc]_)", alltypes.DDL)))
print(json.dumps({kind: ", ".join(" ".join(ddl[c].split()) for c in alltypes.kept[f"in {kind}"][1].column_names) for kind in made}))
