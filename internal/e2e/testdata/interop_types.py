# Writes the inputs: the rows stay here in memory, as the module that all scripts of the session share.
import json
import alltypes, pyarrow as pa
folder, n = args
made = {}
for name, make in {"small": alltypes.small, "ntz": alltypes.ntz}.items():
    rows, schema = make()
    made[name] = rows, alltypes.table(rows, schema)
    half = len(rows) // 2
    alltypes.ndjson(rows[:half], f"{folder}/{name}/1.ndjson")
    alltypes.ndjson(rows[half:], f"{folder}/{name}/2.ndjson")
made["large"] = None, alltypes.large(n, f"{folder}/large/1.ndjson")
for row in made["small"][0]:
    alltypes.ndjson([row], f"{folder}/single/{row['id']:03}.ndjson")
for name, (_, rows) in made.items():
    with pa.ipc.new_file(f"{folder}/{name}.arrow", rows.schema) as out:
        out.write_table(rows)
alltypes.kept.update(made)
print(json.dumps({"all": " ".join(alltypes.DDL.split()), "ntz": alltypes.NTZ_DDL}))
