# Changes a table as other writers do, or reads it by all of them: the first argument says what.
import datetime, json
from decimal import Decimal
import deltalake, pyarrow as pa, readers

what, table, *rest = args
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", pa.string()), ("amount", pa.decimal128(9, 2))])


def spark_append(rows):
    frame = spark.createDataFrame([(i, d, v, Decimal(a)) for i, d, v, a in rows], "id BIGINT, day STRING, v STRING, amount DECIMAL(9,2)")
    frame.write.format("delta").mode("append").save(table)


def deltalake_append(rows):
    columns = list(zip(*[(i, d, v, Decimal(a)) for i, d, v, a in rows]))
    deltalake.write_deltalake(table, pa.table([pa.array(c, t.type) for c, t in zip(columns, SCHEMA)], schema=SCHEMA), mode="append")


def deltalake_appends(many):
    for rows in many:
        deltalake_append(rows)


def sql(*statements):
    for s in statements:
        spark.sql(s.replace("THIS", f"delta.`{table}`"))


def version():
    print(deltalake.DeltaTable(table).version())


def restore(back):
    """Gives up the newest versions."""
    spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF {deltalake.DeltaTable(table).version() - back}")


def vacuum():
    """Spark and deltalake delete all that is not part of the newest version, however young."""
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM delta.`{table}` RETAIN 0 HOURS")
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    deltalake.DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)


def rows(columns):
    """What each reader finds, once if all find the same."""
    found = {}
    for read in [readers.spark_delta, readers.delta_datafusion, readers.delta_scan]:
        text = json.dumps([[None if v is None else str(v) for v in row.values()] for row in read(spark, table, columns).sort_by("id").to_pylist()])
        found.setdefault(text, []).append(read.__name__)
    print(next(iter(found)) if len(found) == 1 else json.dumps({"readers differ": {str(names): text for text, names in found.items()}}))


globals()[what](*rest)
