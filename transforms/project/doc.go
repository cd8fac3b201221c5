// Package project holds the operators select and filter: a small language for the common steps, in pure Go on Arrow's compute kernels.
//
//	select item  =  "*" [ "EXCEPT" "(" column { "," column } ")" ]  |  value [ "AS" name ]
//	value        =  column | literal | "CAST" "(" value "AS" type ")" | "TRY_CAST" "(" value "AS" type ")" | value "::" type
//	column       =  name { "." name }                     a name is a word, or anything in `...` or "..."; the dot goes into a STRUCT
//	literal      =  number | 'text' | TRUE | FALSE | DATE 'text' | TIMESTAMP 'text'
//	condition    =  condition "OR" condition | condition "AND" condition | "NOT" condition | "(" condition ")"
//	              | value ( "=" | "<>" | "!=" | "<" | "<=" | ">" | ">=" ) literal  (or the other way round)
//	              | value "IS" [ "NOT" ] "NULL" | value [ "NOT" ] "IN" "(" literal { "," literal } ")" | value   (a BOOLEAN)
//
// Everything else is sql. Words are matched without regard to case, columns too.
//
// What holds:
//
//	(P1) Types are checked before any row (Output); the error names the expression and the column in it.
//	(P2) Logic is three-valued: a comparison with null is null, and a filter keeps the rows for which the condition is true.
//	(P3) A number is compared exactly with a column of whole numbers or DECIMAL, whatever its digits: n < 1.5 is n <= 1. FLOAT and DOUBLE
//	     are compared as DOUBLE; NaN is equal to nothing and neither less nor greater.
//	(P4) A value that CAST cannot take ends the batch (class Data): the row came from the source in good order, so it cannot be rejected with its raw
//	     bytes. TRY_CAST gives null.
//
// Casts: between all numbers (a fraction is cut off for whole numbers, and rounded half up for DECIMAL; what does not fit is an error), BOOLEAN and
// numbers, STRING and everything scalar, STRING and BINARY (UTF-8), DATE, TIMESTAMP and TIMESTAMP_NTZ (in UTC). Text of a number, date or boolean may
// have spaces around it.
package project
