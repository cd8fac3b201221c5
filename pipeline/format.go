package pipeline

import (
	"microbatch/codec"
	"microbatch/codec/csv"
	"microbatch/codec/json"
	"microbatch/codec/parquet"
	"microbatch/pipeline/config"
)

// messages is the format of Kafka records. The file cannot say parquet here.
func messages(s config.Source) (codec.Messages, error) {
	if s.FormatOrDefault() == "csv" {
		o := csvOptions(s.CSV)
		o.Header = false
		return csv.NewMessages(o)
	}
	return json.New(json.Options{Rescue: s.Rescue}), nil
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
