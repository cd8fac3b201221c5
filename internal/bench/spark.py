# Runs one streaming query after the other in one session and prints what each took, as a line of JSON. The argument is JSON: the source, the sink and the
# runs. Processor time is that of the JVM and of this process, from the moment that the session is there.
import json, os, sys, time
from pyspark.sql import functions as F

spec = json.loads(sys.argv[1])
spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
jvm = spark.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()
tick = os.sysconf("SC_CLK_TCK")


def cpu():
    with open("/proc/%d/stat" % jvm) as f:
        user, system = f.read().rsplit(")", 1)[1].split()[11:13]
    own = os.times()
    return (int(user) + int(system)) / tick + own.user + own.system


def peak():
    total = 0
    for pid in (jvm, os.getpid()):
        with open("/proc/%d/status" % pid) as f:
            total += sum(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))
    return total


def source(limit):
    if spec["topic"]:
        rows = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", spec["broker"]).option("subscribe", spec["topic"])
                .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", limit).load())
        return rows.select(F.from_json(F.col("value").cast("string"), spec["schema"]).alias("j")).select("j.*")
    return spark.readStream.schema(spec["schema"]).option("maxFilesPerTrigger", limit).json(spec["folder"])


for run in spec["runs"]:
    before, begin = cpu(), time.time()
    query = (source(run["limit"]).writeStream.format(spec["format"]).outputMode("append")
             .option("checkpointLocation", run["out"] + "-checkpoint").trigger(availableNow=True).start(run["out"]))
    query.awaitTermination()
    batches = [{"rows": p["numInputRows"], "ms": p["durationMs"]["triggerExecution"]} for p in query.recentProgress if p["numInputRows"]]
    print(json.dumps({"seconds": time.time() - begin, "cpu": cpu() - before, "peak": peak(), "batches": batches}), flush=True)
