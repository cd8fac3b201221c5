# Runs scripts in one Spark session, which stands above: one JSON object a line on standard input, {"script", "args"}, and one on standard output, {"out"} or {"error"}.
# Ends with its standard input.
import contextlib, io, json, os, sys, traceback

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    request, out = json.loads(line), io.StringIO()
    answer = {}
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(request["script"], "script", "exec"), {"spark": spark, "args": request["args"]})
    except BaseException:
        answer["error"] = traceback.format_exc()[-8000:]
    answer["out"] = out.getvalue()
    answers.write("\n" + json.dumps(answer) + "\n")
    answers.flush()
spark.stop()
