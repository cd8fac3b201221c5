package config

import "errors"

// Source is where rows come from: exactly one of kafka, files, rate and orders.
type Source struct {
	// Topics of a Kafka cluster.
	Kafka *Kafka `yaml:"kafka" one:"kind of source"`
	// Files in a folder or bucket, each taken once.
	Files *Files `yaml:"files" one:"kind of source"`
	// Numbered rows at a steady pace, for trials.
	Rate *Rate `yaml:"rate" one:"kind of source"`
	// Generated order events, for demonstrations.
	Orders *Orders `yaml:"orders" one:"kind of source"`
	// How records or files are written. Left out: by the file name's ending, otherwise `json` (one object a record or line). `avro` is for Kafka, `parquet` for files.
	Format string `yaml:"format" enum:"json,csv,parquet,avro"`
	// The columns as Spark DDL: `id BIGINT, amount DECIMAL(10,2), ts TIMESTAMP`. Left out: inferred from a sample, shown, and pinned in the checkpoint.
	Schema string `yaml:"schema"`
	// A column, `_rescued` for example, that keeps as JSON what has no column of its own. Left out: unknown fields are ignored. For `json`.
	Rescue string `yaml:"rescue"`
	// How CSV is written.
	CSV CSV `yaml:"csv"`
	// How Avro is read without a schema registry.
	Avro AvroSource `yaml:"avro"`
}

// CSV is how CSV is written.
type CSV struct {
	// The first line of each file names the columns. Kafka records have no such line.
	Header bool `yaml:"header" default:"true"`
	// What stands between fields: one ASCII character; `"\t"` is a tab.
	Delimiter string `yaml:"delimiter" default:","`
	// What encloses fields that hold delimiters, quotes or line ends.
	Quote string `yaml:"quote" default:"\""`
	// What makes a quote in a quoted field a character. Left out: a quote is written twice. Spark writes a backslash.
	Escape string `yaml:"escape"`
	// The text that stands for null, when it is not in quotes. Left out: an empty field.
	Null string `yaml:"null"`
	// A line end always ends a row, in quotes too: then large files are cut without looking through them first.
	SingleLine bool `yaml:"single_line"`
}

// Kafka is a source of Kafka topics.
type Kafka struct {
	// Servers to ask first: `host:port`.
	Brokers []string `yaml:"brokers" need:"true"`
	// The topics to read.
	Topics []string `yaml:"topics" one:"choice of topics"`
	// A regular expression (RE2) of topic names; new topics join by themselves.
	Pattern string `yaml:"pattern" one:"choice of topics"`
	// Where a new query begins: `earliest`, `latest`, `{timestamp: ...}` or `{offsets: {topic: {partition: offset}}}`. Ignored once there is a checkpoint.
	Start Start `yaml:"start" default:"earliest"`
	// Whether records of open and aborted transactions are left out.
	Isolation string `yaml:"isolation" enum:"read_committed,read_uncommitted" default:"read_committed"`
	// What to do when records that were not read yet are gone: stop, or go on and record the gap.
	OnDataLoss string `yaml:"on_data_loss" enum:"fail,skip" default:"fail"`
	// Columns added to each row: facts about its record.
	Metadata []string `yaml:"metadata" enum:"topic,partition,offset,timestamp,key,headers"`
	// The registry that keeps the schemas of the records. For `format: avro`.
	SchemaRegistry *SchemaRegistry `yaml:"schema_registry"`
	// A consumer group that progress is committed to, so that lag tools see it. The query itself never reads it.
	Group string `yaml:"group"`
	// Encrypt the connection. `{}` trusts the system's certificates.
	TLS *TLS `yaml:"tls"`
	// Log in.
	SASL *SASL `yaml:"sasl"`
}

// TLS is an encrypted connection. The server's name is always checked.
type TLS struct {
	// File of the certificates to trust (PEM). Left out: the system's.
	CA string `yaml:"ca"`
	// File of our own certificate (PEM), for brokers that ask for one.
	Cert string `yaml:"cert"`
	// File of the key to our certificate (PEM).
	Key string `yaml:"key"`
	// The name the server's certificate must have. Left out: the host of the address.
	ServerName string `yaml:"server_name"`
}

// SASL is a login.
type SASL struct {
	// How the password is proved.
	Mechanism string `yaml:"mechanism" enum:"PLAIN,SCRAM-SHA-256,SCRAM-SHA-512" need:"true"`
	// The user.
	User string `yaml:"user" need:"true"`
	// The password, as `env:NAME` or `file:PATH`.
	Password Secret `yaml:"password" need:"true"`
	// Allow PLAIN without TLS, which sends the password readable.
	Insecure bool `yaml:"insecure"`
}

// Start is where a new query begins to read: a word, or one of the keys.
type Start struct {
	// At the first record whose timestamp is not before this.
	Timestamp *Time `yaml:"timestamp" one:"start"`
	// At these offsets, topic to partition to offset, -2 is the earliest and -1 the latest. Every partition is named.
	Offsets map[string]map[string]int64 `yaml:"offsets" one:"start"`

	Word string // "earliest", "latest", or "" if a key was given
}

func (s *Start) forms() string   { return "earliest, latest, {timestamp: ...} or {offsets: ...}" }
func (s *Start) pattern() string { return `^(earliest|latest)$` }

func (s *Start) parse(word string) error {
	if word != "earliest" && word != "latest" {
		return errors.New("not a start")
	}
	s.Word = word
	return nil
}

// Files is a source of files.
type Files struct {
	// A folder, a glob (`in/*.ndjson`, `in/**/*.csv`) or `s3://bucket/prefix`. Names that begin with `.` or `_` are ignored. `.gz` and `.zst` are unpacked.
	Path string `yaml:"path" need:"true"`
	// Leave a file alone until it has not changed for this long. Left out: files are taken as they are found, so write them elsewhere and rename them into place.
	Settle Duration `yaml:"settle"`
	// What to do when a file that a batch needs is gone: stop, or go on without it.
	OnDataLoss string `yaml:"on_data_loss" enum:"fail,skip" default:"fail"`
	// How many times its stored size a `.gz` or `.zst` file may grow, beyond the first 64 MiB; more is taken for a bomb.
	MaxInflation int64 `yaml:"max_inflation" default:"200" min:"1"`
}

// Rate is a source of numbered rows: value BIGINT, timestamp TIMESTAMP.
type Rate struct {
	// How many rows become available each second. The rows of one second stay together, even if `max_rows` is less.
	RowsPerSecond int64 `yaml:"rows_per_second" default:"1" min:"1"`
}

// Orders is a source of generated order events: a function of seed and position alone.
type Orders struct {
	// How many events become available each second; 0: all at once, for which rows is needed.
	RowsPerSecond int64 `yaml:"rows_per_second" default:"1000" min:"0"`
	// How many events there are; 0: no end.
	Rows int64 `yaml:"rows" min:"0"`
	// Another seed gives other events.
	Seed int64 `yaml:"seed" default:"1" min:"0"`
}
