// Package rows prints Arrow records for people and programs: as a table, as JSON lines or as CSV.
package rows
