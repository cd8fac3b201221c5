# Writes the inputs: the rows stay here in memory, as the module that all scripts of the session share.
import json
import alltypes, pyarrow as pa
folder, n = args
alltypes.kept = {}
for name, make in {"small": alltypes.small, "ntz": alltypes.ntz}.items():
    rows, schema = make()
    alltypes.kept[name] = rows, alltypes.table(rows, schema)
    half = len(rows) // 2
    alltypes.ndjson(rows[:half], f"{folder}/{name}/1.ndjson")
    alltypes.ndjson(rows[half:], f"{folder}/{name}/2.ndjson")
alltypes.kept["large"] = None, alltypes.large(n, f"{folder}/large/1.ndjson")
for row in alltypes.kept["small"][0]:
    alltypes.ndjson([row], f"{folder}/single/{row['id']:03}.ndjson")
for name, (_, rows) in alltypes.kept.items():
    with pa.ipc.new_file(f"{folder}/{name}.arrow", rows.schema) as out:
        out.write_table(rows)
print(json.dumps({"all": " ".join(alltypes.DDL.split()), "ntz": alltypes.NTZ_DDL}))
