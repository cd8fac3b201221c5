# Rows of every type, as Arrow tables that readers are compared with and as the NDJSON that microbatch reads.
import base64, datetime, json, math
from decimal import Decimal
import duckdb, pyarrow as pa

UTC = datetime.timezone.utc
TS, NTZ = pa.timestamp("us", tz="UTC"), pa.timestamp("us")

# partition values that a path must not be made of as they are
AWKWARD = ["plain", "a b", "a/b", "../../x", "..", ".", "k=v", "50%", "%41", "%2F", "q?r#s", "plus+amp&", "back\\slash", "quote'\"", "tab\there", "line\nbreak",
           "brace{}[]^", "ünï-日本", "\U0001F600", "x:y", "_hidden", ".dot", "*", "~", " lead", "trail ", "__HIVE", "", None]

SCHEMA = pa.schema([
    ("id", pa.int64()), ("p_str", pa.string()), ("p_date", pa.date32()), ("p_int", pa.int32()), ("p_bool", pa.bool_()), ("p_dec", pa.decimal128(9, 2)), ("p_ts", TS),
    ("c_bool", pa.bool_()), ("c_byte", pa.int8()), ("c_short", pa.int16()), ("c_int", pa.int32()), ("c_long", pa.int64()), ("c_float", pa.float32()),
    ("c_double", pa.float64()), ("c_dec9", pa.decimal128(9, 2)), ("c_dec18", pa.decimal128(18, 6)), ("c_dec38", pa.decimal128(38, 12)), ("c_str", pa.string()),
    ("c_bin", pa.binary()), ("c_date", pa.date32()), ("c_ts", TS), ("c_arr", pa.list_(pa.int32())), ("c_map", pa.map_(pa.string(), pa.int32())),
    ("c_struct", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ("c_deep", pa.struct([("l", pa.list_(pa.struct([("x", pa.decimal128(20, 4)), ("m", pa.map_(pa.string(), pa.list_(TS)))]))),
                          ("s", pa.struct([("d", pa.date32()), ("y", pa.binary())]))]))])
DDL = """id BIGINT, p_str STRING, p_date DATE, p_int INT, p_bool BOOLEAN, p_dec DECIMAL(9,2), p_ts TIMESTAMP, c_bool BOOLEAN, c_byte TINYINT, c_short SMALLINT,
    c_int INT, c_long BIGINT, c_float FLOAT, c_double DOUBLE, c_dec9 DECIMAL(9,2), c_dec18 DECIMAL(18,6), c_dec38 DECIMAL(38,12), c_str STRING, c_bin BINARY,
    c_date DATE, c_ts TIMESTAMP, c_arr ARRAY<INT>, c_map MAP<STRING,INT>, c_struct STRUCT<a: INT, b: STRING>,
    c_deep STRUCT<l: ARRAY<STRUCT<x: DECIMAL(20,4), m: MAP<STRING, ARRAY<TIMESTAMP>>>>, s: STRUCT<d: DATE, y: BINARY>>"""
NTZ_SCHEMA = pa.schema([("id", pa.int64()), ("p_ntz", NTZ), ("c_ntz", NTZ), ("c_ts", TS), ("c_list", pa.list_(NTZ))])
NTZ_DDL = "id BIGINT, p_ntz TIMESTAMP_NTZ, c_ntz TIMESTAMP_NTZ, c_ts TIMESTAMP, c_list ARRAY<TIMESTAMP_NTZ>"


kept = {}  # what scripts leave for others: name -> (rows, Arrow table)


def at(text, zone=UTC):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=zone)


DATES = [datetime.date(1, 1, 1), datetime.date(1582, 10, 4), datetime.date(1582, 10, 15), datetime.date(1969, 12, 31), datetime.date(1970, 1, 1),
         datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]
TIMES = ["0001-01-01T00:00:00", "1582-10-04T23:59:59.999999", "1900-01-01T00:00:00", "1969-12-31T23:59:59.999999", "1970-01-01T00:00:00",
         "2024-03-31T01:59:59.999999", "2024-03-31T02:00:00.000001", "2024-10-27T02:30:00.123", "9999-12-31T23:59:59.999999"]
DOUBLES = [math.inf, -math.inf, math.nan, 0.0, -0.0, 0.1, 1.7976931348623157e308, 5e-324, -2.2250738585072014e-308]
FLOATS = [math.inf, -math.inf, math.nan, 0.0, -0.0, 0.10000000149011612, 3.4028234663852886e38, 1.401298464324817e-45]
# no text that has no upper bound of 64 UTF-16 units: deltalake's PyArrow dataset loses the rows of files without a bound
TEXTS = ["", "x", "a" * 32, "a" * 33, "z" * 40, "ÿ" * 40, "\U0001F600" * 20, "a" * 31 + "\U0001F600b", "\U0010FFFF" * 3, "a" * 32 + "\U0010FFFF" * 3, "\u007f" * 34,
         "\x00nul", "line\n\ttab", "back\\slash \"quoted\"", "日本語", "é", "é", "NaN", "null", "2024-01-01"]


def small():
    """Every edge that a type has, in rows that are partly or wholly null."""
    rows = []
    for i in range(len(AWKWARD) * 3):
        edge = lambda values: values[i % len(values)]
        deep = {"l": [{"x": Decimal("1234567890123456.7891"), "m": {"k": [at(edge(TIMES)), None], "": []}}, {"x": None, "m": None}, None][: i % 4],
                "s": None if i % 5 == 1 else {"d": edge(DATES), "y": bytes([i, 0, 255]) if i % 2 else None}}
        row = dict(id=i, p_str=edge(AWKWARD), p_date=edge(DATES), p_int=edge([0, -1, 2**31 - 1, -2**31]), p_bool=i % 2 == 0,
                   p_dec=edge([Decimal("0.00"), Decimal("-0.01"), Decimal("9999999.99"), Decimal("-9999999.99"), Decimal("1.50")]), p_ts=at(edge(TIMES)),
                   c_bool=i % 2 == 0, c_byte=edge([-128, 127, 0, -1]), c_short=edge([-32768, 32767, 0]), c_int=edge([-2**31, 2**31 - 1, 0]),
                   c_long=edge([-2**63, 2**63 - 1, 0, 2**53 + 1]), c_float=edge(FLOATS), c_double=edge(DOUBLES),
                   c_dec9=edge([Decimal("9999999.99"), Decimal("-9999999.99"), Decimal("0.01")]),
                   c_dec18=edge([Decimal("999999999999.999999"), Decimal("-999999999999.999999"), Decimal("0.000001")]),
                   c_dec38=edge([Decimal("9" * 26 + "." + "9" * 12), Decimal("-" + "9" * 26 + "." + "9" * 12), Decimal("0.000000000001"), Decimal("-0.000000000001")]),
                   c_str=edge(TEXTS), c_bin=edge([b"", b"\x00", bytes(range(256)), "é".encode()]), c_date=edge(DATES), c_ts=at(edge(TIMES)),
                   c_arr=edge([[], [1], [None], [1, None, -3], None]), c_map=edge([{}, {"a": 1}, {"a": None, "": 2}, {"日": -1, "b": 0, "c": 3}]),
                   c_struct=edge([{"a": 1, "b": "x"}, {"a": None, "b": None}, {"a": None, "b": ""}, None]), c_deep=deep)
        for c, name in enumerate(row):  # nulls in every column, at another rhythm in each; and a row of nothing but nulls
            if name not in ("id", "p_str") and ((i + c) % 7 == 3 or i == 40):
                row[name] = None
        rows.append(row)
    return rows, SCHEMA


def ntz():
    rows = []
    for i in range(30):
        when = datetime.datetime.fromisoformat(TIMES[i % len(TIMES)])
        rows.append(dict(id=i, p_ntz=None if i % 5 == 2 else when, c_ntz=None if i % 4 == 1 else when, c_ts=None if i % 3 == 1 else when.replace(tzinfo=UTC),
                         c_list=None if i % 6 == 5 else [when, None][: i % 3]))
    return rows, NTZ_SCHEMA


def table(rows, schema):
    """The rows as Arrow. Python's maps have no order of their own that Arrow could lose: pairs."""
    def value(v):
        if isinstance(v, dict):
            return {k: value(x) for k, x in v.items()}
        return [value(x) for x in v] if isinstance(v, list) else v

    def shaped(v, t):
        if v is None:
            return None
        if pa.types.is_map(t):
            return [(k, shaped(x, t.item_type)) for k, x in v.items()]
        if pa.types.is_list(t):
            return [shaped(x, t.value_type) for x in v]
        if pa.types.is_struct(t):
            return {f.name: shaped(v.get(f.name), f.type) for f in t}
        return v

    return pa.table([pa.array([shaped(r.get(f.name), f.type) for r in rows], f.type) for f in schema], schema=schema)


def plain(v):
    """A value as JSON has it."""
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, bytes):
        return base64.b64encode(v).decode()
    if isinstance(v, datetime.datetime):
        return v.isoformat()
    if isinstance(v, (datetime.date, Decimal)):
        return str(v)
    if isinstance(v, float) and not math.isfinite(v):
        return str(v).replace("inf", "Infinity").replace("nan", "NaN")
    return v


def ndjson(rows, path):
    """Nulls are written by turns as null and by leaving the field out."""
    with open(path, "w", encoding="utf-8") as out:
        for i, row in enumerate(rows):
            out.write(json.dumps({k: plain(v) for k, v in row.items() if v is not None or i % 2}, ensure_ascii=bool(i % 3)) + "\n")


LARGE_SQL = """SELECT i AS id, CASE WHEN i % 11 = 0 THEN NULL ELSE 'p' || i % 3 END AS p_str, CASE WHEN i % 5 = 0 THEN NULL ELSE DATE '2000-01-01' + (i % 3000)::INT END AS p_date,
    (i % 100)::INT AS p_int, i % 3 = 0 AS p_bool, ((i * 7919 % 1999999999 - 999999999) / 100)::DECIMAL(9,2) AS p_dec, to_timestamp(i * 61) AS p_ts,
    CASE WHEN i % 2 = 0 THEN NULL ELSE i % 4 = 1 END AS c_bool, (i % 256 - 128)::TINYINT AS c_byte, (i * 31 % 65536 - 32768)::SMALLINT AS c_short,
    CASE WHEN i // 40000 = 1 THEN NULL ELSE (i * 104729 % 4294967296 - 2147483648)::INT END AS c_int, hash(i)::UBIGINT::HUGEINT - 9223372036854775808 AS c_long,
    (i / 7)::FLOAT AS c_float, CASE WHEN i % 10 = 9 THEN NULL ELSE sqrt(i) END AS c_double, (i % 1000 / 100)::DECIMAL(9,2) AS c_dec9,
    CASE WHEN i % 3 = 1 THEN NULL ELSE (i::HUGEINT * 999999937 % 999999999999999999)::DECIMAL(18,0)::DECIMAL(38,6) / 1000000 END AS c_dec18,
    ('-' || hash(i) || '.' || i)::DECIMAL(38,12) AS c_dec38, CASE WHEN i % 13 = 0 THEN NULL ELSE CASE WHEN i < 100000 THEN 'word ' || i % 500 ELSE 'unique ' || hash(i) || ' é' END END AS c_str,
    encode('b' || i) AS c_bin, DATE '1900-01-01' + (i % 70000)::INT AS c_date, CASE WHEN i % 17 = 0 THEN NULL ELSE make_timestamp(i * 1000003 - 9999999999)::TIMESTAMPTZ END AS c_ts,
    CASE WHEN i % 6 = 0 THEN NULL ELSE list_transform(range(i % 4), lambda x: CASE WHEN x = 2 THEN NULL ELSE (x + i)::INT END) END AS c_arr,
    CASE WHEN i % 9 = 0 THEN NULL ELSE map(list_transform(range(i % 3), lambda x: 'k' || x), list_transform(range(i % 3), lambda x: CASE WHEN x = 1 THEN NULL ELSE i::INT END)) END AS c_map,
    CASE WHEN i % 8 = 0 THEN NULL ELSE {'a': CASE WHEN i % 3 = 0 THEN NULL ELSE i::INT END, 'b': 's' || i % 10} END AS c_struct,
    CASE WHEN i % 7 = 0 THEN NULL ELSE {'l': [{'x': (i / 4)::DECIMAL(20,4), 'm': map(['t'], [[to_timestamp(i), NULL]])}], 's': {'d': DATE '2024-01-01' + (i % 365)::INT, 'y': encode('y')}} END AS c_deep"""


def duck():
    con = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    con.execute("SET TimeZone = 'UTC'")
    return con


def large(n, path):
    """n rows by formula, enough for several row groups; the NDJSON is written by DuckDB."""
    con = duck()
    con.execute(f"CREATE TABLE r AS FROM ({LARGE_SQL} FROM range({n}) t(i))")
    con.execute("ALTER TABLE r ALTER c_long TYPE BIGINT")
    con.execute("ALTER TABLE r ALTER c_dec18 TYPE DECIMAL(18,6)")
    nested = "{'l': [{'x': c_deep.l[1].x, 'm': c_deep.l[1].m}], 's': {'d': c_deep.s.d, 'y': base64(c_deep.s.y)}}"
    con.execute(f"COPY (SELECT * REPLACE (base64(c_bin) AS c_bin, CASE WHEN c_deep IS NOT NULL THEN {nested} END AS c_deep) FROM r) TO '{path}' (FORMAT json)")
    return con.sql("FROM r ORDER BY id").to_arrow_table().cast(SCHEMA)
