// Package sql is the operator that runs one SELECT of DuckDB's SQL over the rows of a batch, which it sees as the view batch.
//
// A query whose plan is nothing but projection and filter needs no other row than its own: it runs in each part by itself, streaming. Every
// other query (aggregates, joins, windows, LIMIT, ORDER BY, UNNEST) gets the whole batch in one part, and its aggregates are per batch. A query that
// reads batch more than once gets it from a temporary table, which spills to the temp directory.
//
// DuckDB has to see only what it has to compute (bypass.go): where a row-wise query is a list of columns and expressions over batch with a condition, the
// columns are put beside DuckDB's as they came in, for those rows of which it gives the numbers back.
//
// What holds:
//
//	(Q1) The result is a function of the batch's rows and timestamp (T1). now(), current_timestamp, current_date, today(), localtime and the like are the
//	     batch's timestamp in UTC. Functions that would answer differently when the batch is run again (random, uuid, nextval, ...), samples, files and
//	     other tables are refused when the query is planned. One thread runs a part, so that sums of floats and ordered aggregates repeat for
//	     the same order of rows.
//	(Q2) All input is pulled, also if the query needs no more of it (LIMIT), and rejected rows pass through as they come.
//	(Q3) Records have exactly the schema of Output; all columns may be null.
//	(Q4) Memory is bounded by a few chunks, or 16 MiB of them while a condition drops all rows, plus what DuckDB's memory limit allows its operators.
//	(Q5) The rows of a row-wise query keep their order.
//
// Result types that tables do not have are cast where nothing is lost, in SQL:
//
//	UTINYINT SMALLINT        USMALLINT INT           UINTEGER BIGINT       UBIGINT DECIMAL(20,0)
//	HUGEINT DECIMAL(38,0)    UHUGEINT DECIMAL(38,0)  ENUM, UUID STRING     TIMESTAMP_S, _MS, _NS TIMESTAMP_NTZ (to microseconds)
//	T[n] ARRAY<T>            NULL without a cast INT
//
// and refused otherwise (TIME, INTERVAL, BIT, UNION): the query has to cast them.
package sql
