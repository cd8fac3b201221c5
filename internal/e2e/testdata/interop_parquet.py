# Reads tables of format parquet as plain Parquet: by Spark, with and without its listing of partitions, and by DuckDB's glob; or, where files have been replaced, by
# the file list that a statement takes from the log.
import alltypes, pyarrow as pa, readers
for name, table, partitions, recipe in args:
    want = alltypes.kept[name][1]
    for p in [p for p in partitions if p == "p_str"]:
        want = want.set_column(want.column_names.index(p), p, pa.chunked_array([[v or None for v in want[p].to_pylist()]], pa.string()))
    stored = want.drop_columns(partitions)
    columns, less = want.column_names, stored.column_names
    con = readers.duck()
    if recipe:
        con.execute(recipe)
        listed = "read_parquet(getvariable('files'), hive_partitioning = true)"
        readers.compare(f"{table} duckdb recipe", want, lambda: con.sql(f"SELECT {', '.join(columns)} FROM {listed}").to_arrow_table())
        continue
    if len(partitions) > 1:  # of other types: a reader has to be told, or it guesses by the text
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")  # times have their zone with them
        readers.compare(f"{table} spark with a schema", want, lambda: spark.read.schema(alltypes.DDL).parquet(table).select(columns).toArrow())
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        types = "{'p_date': DATE, 'p_int': INT, 'p_bool': BOOL, 'p_dec': 'DECIMAL(9,2)', 'p_ts': TIMESTAMPTZ}"
        glob = f"read_parquet('{table}/**/*.parquet', hive_partitioning = true, hive_types = {types})"
        readers.compare(f"{table} duckdb with types", want, lambda: con.sql(f"SELECT {', '.join(columns)} FROM {glob}").to_arrow_table())
        continue
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")  # all partitions here are texts
    readers.compare(f"{table} spark read.parquet", want, lambda: spark.read.parquet(table).select(columns).toArrow())
    readers.compare(f"{table} spark recursiveFileLookup", stored, lambda: spark.read.option("recursiveFileLookup", True).parquet(table).select(less).toArrow())
    glob = f"read_parquet('{table}/**/*.parquet', hive_partitioning = {bool(partitions)}, hive_types_autocast = false)"
    readers.compare(f"{table} duckdb glob", want, lambda: con.sql(f"SELECT {', '.join(columns)} FROM {glob}").to_arrow_table())
