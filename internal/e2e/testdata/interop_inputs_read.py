# Compares tables with what stood in the input files.
import alltypes, readers
for kind, table in args:
    want = alltypes.kept[f"in {kind}"][1]
    readers.compare(f"{table} delta_scan", want, lambda: readers.delta_scan(spark, table, want.column_names))
