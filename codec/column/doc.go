// Package column builds Arrow columns from values, one at a time, for the decoders of rows, and reads values from their text.
//
// A Column is the offset and data buffers of one Arrow array, taken from the caller's allocator and handed over without a copy. It differs
// from arrow-go's builders in what row decoders need: a row can be taken back, and text is scanned and copied in one loop.
//
//	(C1) A Column's buffers always hold Len whole values; what a caller wrote beyond them is forgotten by Truncate or overwritten.
//	(C2) Truncate(n) restores exactly the state after n values, at every level of nesting.
//	(C3) Who appends checks nullability and text encoding: a Column accepts any null and any bytes.
//	(C4) The values of null slots are zero, so equal rows have equal buffers.
//
// The texts of numbers, dates, timestamps and decimals are read here, the same for JSON strings and CSV fields.
package column
