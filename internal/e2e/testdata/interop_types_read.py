# Reads tables by all readers, and compares them with what was written.
import alltypes, pyarrow as pa, readers
for name, table, partitions in args:
    want = alltypes.kept[name][1]
    for p in partitions:  # Delta protocol: an empty text in a partition column is null
        if pa.types.is_string(want[p].type):
            values = pa.chunked_array([[v or None for v in want[p].to_pylist()]], pa.string())
            want = want.set_column(want.column_names.index(p), p, values)
    for read in readers.OF_TABLES:
        if read is readers.delta_rs and any(pa.types.is_decimal(want[p].type) for p in partitions):
            continue  # deltalake 1.6.6 makes -9999999.-99 of a partition value -9999999.99; its query engine below reads it right
        readers.compare(f"{table} {read.__name__}", want, lambda: read(spark, table, want.column_names))
    stored = want.drop_columns(partitions)
    for read in readers.OF_FILES:
        readers.compare(f"{table} {read.__name__}", stored, lambda: read(spark, table, stored.column_names))
    if "p_ts" in partitions:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        readers.compare(f"{table} spark_delta in New York", want, lambda: readers.spark_delta(spark, table, want.column_names))
        spark.conf.set("spark.sql.session.timeZone", "UTC")
