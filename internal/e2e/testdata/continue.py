# Continues the query as Spark would: everything that is in the topic now, then stops. The session stands above.
import sys
from pyspark.sql import functions as F
checkpoint, table, broker, topic = sys.argv[1:5]
schema = "id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING"
rows = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", topic)
    .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 10).load()
    .select(F.from_json(F.col("value").cast("string"), schema).alias("j"), F.col("partition").alias("kpartition"), F.col("offset").alias("koffset"))
    .select("j.*", "kpartition", "koffset"))
query = rows.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint).trigger(availableNow=True).start(table)
query.awaitTermination()
out = spark.read.format("delta").load(table)
print("SPARK %d rows, %d ids, sum %d" % (out.count(), out.select("id").distinct().count(), out.agg(F.sum("id")).collect()[0][0]))
