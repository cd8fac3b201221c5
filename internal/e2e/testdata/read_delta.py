# Reads a delta table on S3 with deltalake and with DuckDB's delta_scan, and compares it row by row with the expected NDJSON.
import glob, os, sys, duckdb, deltalake, duckdb_extension_delta, duckdb_extension_httpfs

table, rejected, expected, endpoint, key, secret = sys.argv[1:7]
options = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1",
           "AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
con = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
con.execute("SET TimeZone = 'UTC'")
for module in (duckdb_extension_httpfs, duckdb_extension_delta):
    found = glob.glob(os.path.join(os.path.dirname(module.__file__), "extensions", "*", "*.duckdb_extension"))
    con.execute(f"LOAD '{found[0]}'")
con.execute(f"""CREATE SECRET s (TYPE s3, KEY_ID '{key}', SECRET '{secret}', REGION 'us-east-1',
    ENDPOINT '{endpoint.split("//")[1]}', URL_STYLE 'path', USE_SSL false)""")

arrow = deltalake.DeltaTable(table, storage_options=options).to_pyarrow_table()
figures = "SELECT count(*), count(DISTINCT id), sum(id) FROM "
print("deltalake: %d rows, %d ids, sum %d" % con.sql(figures + "arrow").fetchone())
con.execute(f"CREATE TABLE t AS SELECT * FROM delta_scan('{table}')")
print("delta_scan: %d rows, %d ids, sum %d" % con.sql(figures + "t").fetchone())
con.execute(f"""CREATE TABLE e AS SELECT * FROM read_json('{expected}', format = 'newline_delimited', columns = {{id: 'BIGINT', ts: 'TIMESTAMPTZ',
    user_id: 'BIGINT', event: 'VARCHAR', country: 'VARCHAR', amount: 'DOUBLE', url: 'VARCHAR', session: 'VARCHAR'}})""")
columns = "id, ts, user_id, event, country, amount, url, session"
differ = con.sql(f"""SELECT (SELECT count(*) FROM (SELECT {columns} FROM t EXCEPT ALL SELECT {columns} FROM e))
    + (SELECT count(*) FROM (SELECT {columns} FROM e EXCEPT ALL SELECT {columns} FROM t))""").fetchone()[0]
print(f"rows that differ from the input: {differ}")
print("rejected: %d rows at %d positions" % con.sql(f"SELECT count(*), count(DISTINCT position) FROM delta_scan('{rejected}')").fetchone())
