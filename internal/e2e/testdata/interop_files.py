# Goes on with a files query as Spark would: all files that are there now, two to a batch, then stops.
folder, checkpoint, table, ddl = args
rows = spark.readStream.schema(ddl).option("maxFilesPerTrigger", 2).json(folder)
query = rows.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint).trigger(availableNow=True).start(table)
query.awaitTermination()
count, ids, total = spark.read.format("delta").load(table).selectExpr("count(*)", "count(DISTINCT id)", "sum(id)").first()
print(f"{count} {ids} {total}")
