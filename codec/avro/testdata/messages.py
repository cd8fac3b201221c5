# Writes messages.json: messages as fastavro 1.13.1 writes them, with their schemas and the rows that they are. Run: python messages.py > messages.json
import datetime, decimal, io, json, uuid
import fastavro

utc = datetime.timezone.utc
FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "small", "type": "int"},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "note", "type": ["string", "null"], "default": ""},
    {"name": "amount", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}]},
    {"name": "price", "type": {"type": "fixed", "name": "Price", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 3}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "us", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "uid", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "ratio", "type": "double"},
    {"name": "half", "type": "float"},
    {"name": "ok", "type": "boolean"},
    {"name": "raw", "type": "bytes"},
    {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "counts", "type": {"type": "map", "values": "long"}},
    {"name": "at", "type": ["null", {"type": "record", "name": "Place", "fields": [{"name": "lat", "type": "double"}, {"name": "city", "type": ["null", "string"]}]}]},
    {"name": "places", "type": {"type": "array", "items": "Place"}},
    {"name": "either", "type": ["null", "long", "string"]},
]
SCHEMA = {"type": "record", "name": "Event", "namespace": "shop", "fields": FIELDS}

def row(i):
    return {
        "id": [0, -1, 2**62, -2**63, 64][i], "small": [1, -64, 2**31 - 1, -2**31, 8191][i], "name": [None, "", "Ärger 😀", "x" * 200, "a\nb"][i], "note": ["", None, "n", None, "m"][i],
        "amount": [None, decimal.Decimal("0.00"), decimal.Decimal("-1.28"), decimal.Decimal("99999999.99"), decimal.Decimal("1.27")][i],
        "price": decimal.Decimal(["0.000", "-0.001", "999999.999", "-999999.999", "1.500"][i]), "day": datetime.date(*[(1970, 1, 1), (1, 1, 1), (9999, 12, 31), (2024, 2, 29), (1969, 12, 31)][i]),
        "ms": datetime.datetime(2024, 5, 1, 12, 34, 56, 789000, tzinfo=utc), "us": [None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=utc)][i % 2],
        "local": datetime.datetime(2024, 5, 1, 12, 34, 56, 789012), "clock": datetime.time(1, 2, 3, 4), "uid": uuid.UUID("12345678-1234-5678-1234-567812345678"),
        "ratio": [0.0, -1.5, 1e300, 5e-324, 0.1][i], "half": [0.0, 1.5, -2.25, 1024.0, 0.5][i], "ok": i % 2 == 0, "raw": [b"a", b"\x00\xff", b"abc", b"\n", b"xy"][i],
        "color": ["RED", "GREEN"][i % 2], "tags": [[], ["a"], ["", "b"], ["c"] * 100, ["d"]][i], "counts": [{}, {"a": 1}, {"a": 1, "b": -2}, {"k%d" % k: k for k in range(20)}, {"": 0}][i],
        "at": [None, {"lat": 1.5, "city": None}, {"lat": -0.25, "city": "Bern"}][i % 3], "places": [[], [{"lat": 0.5, "city": "x"}]][i % 2], "either": [None, 7, "seven"][i % 3],
    }

def shown(v):  # as Arrow writes rows as JSON
    if isinstance(v, dict):
        return {k: shown(x) for k, x in v.items()}
    if isinstance(v, list):
        return [shown(x) for x in v]
    if isinstance(v, bytes):
        import base64
        return base64.b64encode(v).decode()
    if isinstance(v, decimal.Decimal):
        return format(v.normalize(), "f")
    if isinstance(v, datetime.datetime):
        text = v.strftime("%Y-%m-%dT%H:%M:%S") + (".%06d" % v.microsecond).rstrip("0").rstrip(".")
        return text + ("Z" if v.tzinfo else "")
    if isinstance(v, datetime.date):
        return v.isoformat()
    if isinstance(v, datetime.time):
        return ((v.hour * 60 + v.minute) * 60 + v.second) * 1000000 + v.microsecond
    if isinstance(v, uuid.UUID):
        return str(v)
    return v

def messages(schema, rows):
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    out = []
    for r in rows:
        buf = io.BytesIO()
        fastavro.schemaless_writer(buf, parsed, r)
        s = shown(r)
        if "either" in s:
            e = s["either"]
            s["either"] = None if e is None else {"member0": e if isinstance(e, int) else None, "member1": e if isinstance(e, str) else None}
        out.append({"hex": buf.getvalue().hex(), "row": s})
    return out

print(json.dumps({"schema": SCHEMA, "messages": messages(SCHEMA, [row(i) for i in range(5)])}, indent=1, ensure_ascii=False))
