// Package corpus reads the files of testdata with which fuzz targets begin.
package corpus
