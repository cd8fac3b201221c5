package pipeline

import (
	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/codec/csv"
	"microbatch/codec/json"
	"microbatch/codec/parquet"
	"microbatch/pipeline/config"
)

// messages is the format of Kafka records, and the columns that it knows by itself; nil if it knows none. The file cannot say parquet here.
func (b builder) messages(s config.Source) (codec.Messages, *arrow.Schema, error) {
	switch s.FormatOrDefault() {
	case "avro":
		return b.avroMessages(s)
	case "csv":
		o := csvOptions(s.CSV)
		o.Header = false
		format, err := csv.NewMessages(o)
		return format, nil, err
	}
	return json.New(json.Options{Rescue: s.Rescue}), nil, nil
}

// fileFormat is the format of files.
func fileFormat(s config.Source) (codec.Files, error) {
	switch s.FormatOrDefault() {
	case "csv":
		return csv.New(csvOptions(s.CSV))
	case "parquet":
		return parquet.New(parquet.Options{}), nil
	}
	return json.NewFiles(json.Options{Rescue: s.Rescue}), nil
}

func csvOptions(c config.CSV) csv.Options {
	return csv.Options{Header: c.Header, Delimiter: char(c.Delimiter), Quote: char(c.Quote), Escape: char(c.Escape), Null: c.Null, SingleLine: c.SingleLine}
}

// char is the one character of a text; 0 if there is none.
func char(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}
