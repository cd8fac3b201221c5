package config

// Config is a pipeline file.
type Config struct {
	// The pipeline's name: letters, digits, `_`, `-` and `.`. It stands in the table's log and in metrics. A fresh checkpoint on a table that a pipeline of this name has filled is refused.
	Name string `yaml:"name" need:"true"`
	// Where the rows come from.
	Source Source `yaml:"source" need:"true"`
	// Steps between source and sink, in order.
	Transform []Step `yaml:"transform"`
	// Where the rows go.
	Sink Sink `yaml:"sink" need:"true"`
	// Where rows go that do not decode. Left out: a table beside the sink's, `<table>_rejected`.
	Rejected *Rejected `yaml:"rejected"`
	// `exactly_once`: a batch is committed, then recorded; after a crash it may run again, and a sink that keeps batch ids skips what it has. `at_most_once`: a batch is recorded, then committed, and a recorded one never runs again: a crash in between loses its rows, and none come twice. `microbatch explain` says what comes out.
	Delivery string `yaml:"delivery" enum:"exactly_once,at_most_once" default:"exactly_once"`
	// What happens to a row that does not decode: it is kept in the rejected table, stops the query, or is dropped and counted.
	OnError string `yaml:"on_error" enum:"reject,fail,drop" default:"reject"`
	// The query stops when a batch has more rejected rows than this. Left out: no ceiling.
	MaxRejected Ceiling `yaml:"max_rejected"`
	// The folder or `s3://bucket/prefix` of the checkpoint. Left out with a table sink: `_checkpoint` in the table's folder, which table readers skip.
	Checkpoint string `yaml:"checkpoint"`
	// When a batch begins, and how much it takes.
	Trigger Trigger `yaml:"trigger"`
	// A batch that takes longer is abandoned before its commit and tried again. `0s` is no limit.
	BatchTimeout Duration `yaml:"batch_timeout" default:"0s"`
	// How many batches the checkpoint remembers; at least 100.
	RetainBatches int `yaml:"retain_batches" default:"100" min:"100"`
	// How often in a row the query recovers by itself from network errors and unknown outcomes before it stops.
	MaxRestarts int `yaml:"max_restarts" default:"10" min:"0"`
	// How `s3://` paths are reached. Left out: the AWS environment decides (variables, profile, instance role).
	S3 S3 `yaml:"s3"`

	file   string
	dir    string
	places map[string]place
}

// Step is one transform; exactly one of its keys is given.
type Step struct {
	// Columns to keep: `name`, `name AS other`, `CAST(name AS TYPE) AS other`.
	Select []string `yaml:"select" one:"transform"`
	// A condition that rows must meet: comparisons of a column with a literal, `IS NULL`, `AND`, `OR`, `NOT`.
	Filter string `yaml:"filter" one:"transform"`
	// A DuckDB query over the table `batch`. A query that is more than projection and filter sees one batch at a time.
	SQL string `yaml:"sql" one:"transform"`
}

// Rejected is where rows go that do not decode.
type Rejected struct {
	// The folder or `s3://bucket/prefix` of the table of rejected rows. It has the format of the sink's table.
	Table string `yaml:"table" need:"true"`
}

// Trigger says when batches begin. At most one of every and once is given.
type Trigger struct {
	// A batch begins at each multiple of this. `0s`: back to back. Left out: `0s`.
	Every *Duration `yaml:"every"`
	// Take all that is available now, in batches of the limits below, then stop.
	Once bool `yaml:"once"`
	// The most rows one batch takes. Left out: 1000000.
	MaxRows int64 `yaml:"max_rows" default:"1000000" min:"1"`
	// The most bytes one batch takes, as they are stored in the source. For Kafka an estimate from the mean size so far. Left out: no bound.
	MaxBytes Size `yaml:"max_bytes"`
	// The most files one batch takes, for the files source. Left out: no bound.
	MaxFiles int64 `yaml:"max_files" default:"0" min:"0"`
	// The least time between the end of a batch and the begin of the next.
	MinPause Duration `yaml:"min_pause" default:"0s"`
}

// S3 is how s3:// paths are reached: settings for all buckets, and other ones for single buckets.
type S3 struct {
	S3Access
	// Settings of single buckets, by name. They replace the ones above as a whole.
	Buckets map[string]S3Access `yaml:"buckets"`
}

// S3Access is how buckets are reached. Keys that are left out come from the AWS environment.
type S3Access struct {
	// The server, `http://127.0.0.1:9000`. Left out: AWS.
	Endpoint string `yaml:"endpoint"`
	// The region. Left out: the AWS environment's, or `us-east-1` with an endpoint.
	Region string `yaml:"region"`
	// Write the bucket into the path instead of the host name, as MinIO wants it. Left out: true with an endpoint.
	PathStyle *bool `yaml:"path_style"`
	// The access key, as `env:NAME` or `file:PATH`.
	AccessKey Secret `yaml:"access_key"`
	// The secret key, as `env:NAME` or `file:PATH`.
	SecretKey Secret `yaml:"secret_key"`
	// The token of temporary credentials, as `env:NAME` or `file:PATH`.
	SessionToken Secret `yaml:"session_token"`
}
