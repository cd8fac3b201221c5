package pipeline

import (
	"errors"

	"microbatch/codec"
	"microbatch/codec/json"
	"microbatch/codec/parquet"
	"microbatch/pipeline/config"
)

// messages is the format of Kafka records.
func messages(s config.Source) (codec.Messages, error) {
	return json.New(json.Options{Rescue: s.Rescue}), nil
}

// fileFormat is the format of files.
func fileFormat(s config.Source) (codec.Files, error) {
	switch s.FormatOrDefault() {
	case "csv":
		return nil, errors.New("csv is not part of this build")
	case "parquet":
		return parquet.New(parquet.Options{}), nil
	}
	return json.NewFiles(json.Options{Rescue: s.Rescue}), nil
}
