// Package schema maps the four ways a schema is written to each other, once: Spark DDL, Arrow, and Delta's schema JSON here; the Parquet
// types follow from the Arrow ones in package arrowparquet.
//
// The canonical Arrow type of each Spark type; everything else in the project builds and expects exactly these:
//
//	DDL                        Delta JSON       Arrow                      Parquet
//	BOOLEAN                    boolean          bool                       BOOLEAN
//	TINYINT, BYTE              byte             int8                       INT32 INT(8)
//	SMALLINT, SHORT            short            int16                      INT32 INT(16)
//	INT, INTEGER               integer          int32                      INT32
//	BIGINT, LONG               long             int64                      INT64
//	FLOAT, REAL                float            float32                    FLOAT
//	DOUBLE                     double           float64                    DOUBLE
//	DECIMAL(p,s)               decimal(p,s)     decimal128(p,s)            INT32 (p<=9), INT64 (p<=18), FIXED_LEN
//	STRING                     string           utf8                       BYTE_ARRAY STRING
//	BINARY                     binary           binary                     BYTE_ARRAY
//	DATE                       date             date32                     INT32 DATE
//	TIMESTAMP                  timestamp        timestamp[us, UTC]         INT64 TIMESTAMP(MICROS, UTC)
//	TIMESTAMP_NTZ              timestamp_ntz    timestamp[us]              INT64 TIMESTAMP(MICROS, local)
//	ARRAY<t>                   array            list<element: t>           3-level list.element
//	MAP<k,v>                   map              map<key: k, value: v>      key_value.key/value
//	STRUCT<a: t, ...>          struct           struct<a: t, ...>          group
//
// NOT NULL is Nullable=false, at every level. A column's COMMENT is the Arrow field metadata "comment"; any other metadata of a Delta field
// travels as "delta:<name>" with its raw JSON value, so that reading a schemaString and writing it again loses nothing.
//
//	(S1) Names are matched without regard to case everywhere, and are unique without regard to case within their struct.
//	(S2) Merge never reorders, renames, retypes (but for byte < short < int) or makes stricter: old files stay readable.
package schema
