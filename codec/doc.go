// Package codec is the contract for formats: how bytes become Arrow columns and back.
//
// There are three contracts. Messages decodes the bytes of one record at a time (a Kafka record's value). Files decodes whole files and can
// split them. Encoder writes rows. A format implements those that make sense for it: JSON all three, Parquet only Files.
//
// What every decoder promises:
//
//	(D1) A row is decoded or rejected, never both and never neither; which of the two depends only on its bytes and the schema.
//	(D2) A rejected row leaves no trace in the columns.
//	(D3) Bad input gives a reject or an error, never a panic, and memory is bounded by the input's size and the stated limits.
//	(D4) The schema of what is yielded is Output(schema), always.
package codec
