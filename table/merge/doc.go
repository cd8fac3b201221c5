// Package merge puts the rows of a batch into a table by their keys: it says which row of the batch counts for each key, finds the files of the table that
// hold such keys, and rewrites those. It knows rows and files; the commit is the caller's.
//
//	Batch    collects the batch: its rows on a Spool, its keys in an Index
//	         key -> the row that counts, whether it deletes, whether the table has the key
//	Files    the live files of the table, kept from batch to batch, with what tells which may hold a key
//	Target   the files of the table: which may hold a key (statistics, partitions), which do (their key columns are read), rewriting them without those rows
//
// Keys and orders are compared in one form (Columns): bytes whose order is that of the values, column after column, nulls first.
//
//	(U1) With an order, which row of a key counts depends on the rows of the batch alone, never on the order in which they come or on how many parts there are.
//	     Without one it is the last: of the last part that has one, and there the last that comes.
//	(U2) A null is a value like any other: it equals null. In a partition column an empty string is null, as everywhere in Delta.
//	(U3) A file is passed over only if its statistics or its partition prove that it holds none of the keys. What cannot be understood proves nothing.
//	(U4) In memory are the keys and orders of a batch and, up to a limit, its rows, which then go to local disk; and about 220 bytes for each
//	     file of the table (Files). Files of the table are streamed.
//	(U5) A file that holds none of the keys is not rewritten. Rows of one that does are not mixed with those of others, unless both are small, so that the ranges
//	     of keys by which files are passed over stay as narrow as they were.
package merge
