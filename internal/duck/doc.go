// Package duck is one DuckDB session with limits: Arrow streams go in as views, SQL runs, Arrow records come out.
//
// A Session is one database, in memory unless it is told a file; its memory limit, temp directory and threads are shared by its connections. A Conn runs one query at a
// time. With one thread (the default) a query runs on the goroutine that asks for its rows, so n connections use n cores and no more.
//
// What holds:
//
//	(K1) Results stream: a query of which one row has been asked has not computed them all. (The driver's own Arrow reader materialises results and
//	     drops errors that happen after the first row; that is why this package stands on the driver's mapping layer.)
//	(K2) A record of Rows.Next belongs to the caller, who releases it. Its memory is DuckDB's and is freed by that release.
//	(K3) A record given to a View is released by the view, also if the query fails or is left early.
//	(K4) Extensions are neither installed nor loaded by themselves. Without Config.Files the SQL reads no file and opens no connection.
//	(K5) The time zone is UTC, whatever the machine says.
//
// DuckDB is a C++ library: it is linked with cgo and the build tag duckdb_arrow. Built without one of the two, the package has the same
// functions, and each returns an error that says which is missing.
package duck
