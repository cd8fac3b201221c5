package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/sqlvars"
	"microbatch/schema"
)

// validator checks what no single key can tell. It runs on what was decoded, even after faults, and says nothing about values that are absent.
type validator struct {
	*Config
	*decoder
}

func (v validator) given(path string) bool { _, ok := v.decoder.places[path]; return ok }

func (v validator) wrong(path, format string, args ...any) {
	v.faults.add(errcode.PipelineValue, v.at(path), path+": "+format, args...)
}

func (v validator) clash(path, format string, args ...any) {
	v.faults.add(errcode.PipelineCombination, v.at(path), format, args...)
}

func (v validator) missing(path, format string, args ...any) {
	v.faults.add(errcode.PipelineMissing, v.at(path), path+" is missing; "+format, args...)
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

func (v validator) validate() {
	if v.Name != "" && !nameForm.MatchString(v.Name) {
		v.wrong("name", "want letters, digits, _, - and ., at most 128, have %q", v.Name)
	}
	v.source()
	v.sink()
	v.delivery()
	v.rejects()
	v.trigger()
	v.checkpoint()
	v.s3("s3", v.S3.S3Access)
	for bucket, access := range v.S3.Buckets {
		v.s3(join("s3.buckets", bucket), access)
	}
}

func (v validator) source() {
	s := v.Source
	for _, key := range []string{"format", "schema", "rescue", "csv", "avro"} {
		if v.given("source."+key) && (s.Rate != nil || s.Orders != nil) {
			v.clash("source."+key, "source.%s: generated rows have their own columns; remove it", key)
		}
	}
	format := s.FormatOrDefault()
	if v.given("source.rescue") && format != "json" {
		v.clash("source.rescue", "source.rescue: only json has fields without a column; the format is %s", format)
	}
	v.avroSource(format)
	if v.given("source.csv") && format != "csv" {
		v.clash("source.csv", "source.csv: the format is %s; add format: csv or remove it", format)
	}
	for _, c := range [][2]string{{"delimiter", s.CSV.Delimiter}, {"quote", s.CSV.Quote}, {"escape", s.CSV.Escape}} {
		if len(c[1]) > 1 || strings.ContainsAny(c[1], "\r\n") {
			v.wrong("source.csv."+c[0], "want one ASCII character, have %d bytes", len(c[1]))
		}
	}
	if s.CSV.Delimiter == s.CSV.Quote && s.CSV.Quote != "" {
		v.clash("source.csv.quote", "source.csv: delimiter and quote are the same character")
	}
	if _, err := schema.ParseDDL(s.Schema); s.Schema != "" && err != nil {
		v.wrong("source.schema", "%v", withoutPrefix(err))
	}
	if s.Orders != nil && s.Orders.RowsPerSecond == 0 && s.Orders.Rows == 0 {
		v.clash("source.orders.rows_per_second", "source.orders: rows_per_second: 0 makes all rows at once, and without rows there is no end; set one of them")
	}
	if s.Kafka != nil {
		v.kafka(s.Kafka, format)
	}
	if s.Files != nil {
		v.path("source.files.path", s.Files.Path)
	}
}

// withoutPrefix is a mistake in DDL by its column in the text, which stands somewhere in the line of the key.
func withoutPrefix(err error) error {
	if e, ok := errors.AsType[*schema.DDLError](err); ok {
		return fmt.Errorf("character %d: %s", e.Column, e.Msg)
	}
	return err
}

func (v validator) kafka(k *Kafka, format string) {
	if format == "parquet" {
		v.clash("source.format", "source.format: Kafka records are json, csv or avro, one row each; parquet is for files")
	}
	if v.given("source.csv.header") && v.Source.CSV.Header {
		v.clash("source.csv.header", "source.csv.header: a Kafka record is one row and has no line of names; remove it")
	}
	if format == "csv" && v.Source.Schema == "" {
		v.missing("source.schema", "Kafka records in csv have no names: declare the columns, such as schema: id BIGINT, name STRING")
	}
	v.cluster("source.kafka", k.Brokers, k.TLS, k.SASL)
	if _, err := regexp.Compile(k.Pattern); err != nil {
		v.wrong("source.kafka.pattern", "%v", err)
	}
	v.distinct("source.kafka.topics", k.Topics)
	v.distinct("source.kafka.metadata", k.Metadata)
	for topic, partitions := range k.Start.Offsets {
		for p, offset := range partitions {
			if _, err := strconv.ParseInt(p, 10, 32); err != nil || offset < -2 {
				v.wrong("source.kafka.start.offsets."+topic+"."+p, "want partition: offset, such as 0: 1500 (-2 is earliest, -1 latest)")
			}
		}
	}
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func (v validator) distinct(path string, words []string) {
	for i, w := range words {
		if slices.Contains(words[:i], w) {
			v.wrong(path+"["+strconv.Itoa(i)+"]", "%q stands there twice", w)
		}
	}
}

func (v validator) path(at, p string) {
	if fault := pathFault(p); fault != "" {
		v.wrong(at, "%s", fault)
	}
}

func (v validator) sink() {
	if f := v.Sink.Files; f != nil {
		v.filesSink(f)
	}
	if f := v.Sink.ForeachBatch; f != nil {
		v.foreachBatch(f)
	}
	if h := v.Sink.HTTP; h != nil {
		v.http(h)
	}
	if p := v.Sink.Postgres; p != nil {
		v.postgres(p)
	}
	if k := v.Sink.Kafka; k != nil {
		v.kafkaSink(k)
	}
	t := v.Sink.Table
	if t == nil {
		return
	}
	v.path("sink.table.path", t.Path)
	v.distinct("sink.table.partition_by", t.PartitionBy)
	if r := t.Maintenance.VacuumRetain.D(); r != 0 && r < 48*time.Hour {
		v.wrong("sink.table.maintenance.vacuum_retain", "want at least 48h, or a reader or a second driver may lose files it still needs")
	}
	if t.Format == "parquet" && t.Maintenance.OptimizeEvery != 0 && !t.AllowReplacedFiles {
		v.clash("sink.table.maintenance.optimize_every", "sink.table.maintenance.optimize_every: with format: parquet the replaced files are still seen by readers of files until vacuum; accept it by allow_replaced_files: true, or use format: delta")
	}
	v.mode(t)
	for _, key := range []string{"sweep", "allow_replaced_files"} {
		if v.given("sink.table."+key) && t.Format == "delta" {
			v.clash("sink.table."+key, "sink.table.%s: it is for format: parquet; readers of delta take the files from the log", key)
		}
	}
}

func (v validator) postgres(p *Postgres) {
	const at = "sink.postgres."
	v.postgresURL("sink.postgres", p.URL)
	switch n := len(p.Keys); {
	case p.Mode == "append" && n > 0:
		v.clash(at+"keys", at+"keys: they are for mode upsert and ledger; set mode or remove them")
	case p.Mode == "upsert" && n == 0:
		v.missing(at+"keys", "mode upsert needs the columns that tell rows apart")
	case p.Mode == "ledger" && n == 0:
		v.missing(at+"keys", "mode ledger needs the column that is the event's id")
	case p.Mode == "ledger" && n > 1:
		v.wrong(at+"keys", "mode ledger has exactly one, the event's id")
	}
	v.distinct(at+"keys", p.Keys)
	v.distinct(at+"order_by", p.OrderBy)
	if len(p.OrderBy) > 0 && p.Mode == "append" {
		v.clash(at+"order_by", at+"order_by: it decides between rows of one key; mode append has no keys")
	}
	if p.OperationColumn != "" && p.Mode != "upsert" {
		v.clash(at+"operation_column", at+"operation_column: it is for mode upsert")
	}
	if len(p.DeleteValues) > 0 && p.OperationColumn == "" {
		v.clash(at+"delete_values", at+"delete_values: they are values of operation_column; add it")
	}
}

// postgresURL checks where a database is: at is the key that holds url.
func (v validator) postgresURL(at, text string) {
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql": // the error would print the URL, and with it a password
		v.wrong(at+".url", "want a URL such as postgres://user@host:5432/database")
	default:
		_, inUser := u.User.Password()
		if q := u.Query(); inUser || q.Has("password") || q.Has("sslpassword") {
			v.wrong(at+".url", "a URL holds no password; it belongs in password, as an env: or file: reference")
		}
	}
}

func (v validator) foreachBatch(f *ForeachBatch) {
	sql, databases := len(f.SQL) > 0, 0
	for key, given := range map[string]bool{"duckdb": f.DuckDB != "", "postgres": f.Postgres != nil} {
		if at := "sink.foreachbatch." + key; given && !sql {
			v.clash(at, "%s: it is for sql; a command has its own way to its database", at)
		}
		if given {
			databases++
		}
	}
	if sql && databases != 1 {
		v.clash("sink.foreachbatch.sql", "sink.foreachbatch.sql: it runs in exactly one database: duckdb: path, or postgres: {url: ...}")
	}
	if p := f.Postgres; p != nil {
		v.postgresURL("sink.foreachbatch.postgres", p.URL)
	}
	for i, text := range f.SQL {
		at := "sink.foreachbatch.sql[" + strconv.Itoa(i) + "]"
		if _, err := sqlvars.Fill(text, map[string]string{"query_id": "", "batch_id": ""}); err != nil {
			v.wrong(at, "%v", err)
		}
		if verb := sqlvars.EndsTransaction(text); verb != "" {
			v.wrong(at, "%s is not allowed: the transaction is the sink's, which notes the batch in it", verb)
		}
	}
}

func (v validator) http(h *HTTPSink) {
	if u, err := url.Parse(h.URL); h.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil) {
		v.wrong("sink.http.url", "want http://host/path or https://host/path, without user and password (those go into authorization)")
	}
	for name := range h.Headers {
		if strings.EqualFold(name, "authorization") || strings.EqualFold(name, "idempotency-key") {
			v.clash("sink.http.headers."+name, "sink.http.headers.%s: it is set by authorization and operation_id", name)
		}
	}
	v.distinct("sink.http.operation_id", h.OperationID)
	v.path("sink.http.quarantine", h.Quarantine)
	if k := v.Source.Kafka; len(h.OperationID) == 0 && (k == nil || !slices.Contains(k.Metadata, "topic") || !slices.Contains(k.Metadata, "partition") || !slices.Contains(k.Metadata, "offset")) {
		v.missing("sink.http.operation_id", "rows have no _topic, _partition and _offset: name columns that tell every row apart, or add metadata: [topic, partition, offset] to a Kafka source")
	}
}

func (v validator) filesSink(f *FilesSink) {
	if v.path("sink.files.path", f.Path); strings.HasPrefix(f.Path, "s3://") {
		v.wrong("sink.files.path", "want a folder on local disk: a batch appears by a rename, which S3 does not have; sink.table writes there")
	}
	if fits := map[string]string{"json": "none,gzip,zstd", "csv": "none,gzip,zstd", "parquet": "none,snappy,zstd"}[f.Format]; f.Compression != "" && fits != "" && !slices.Contains(strings.Split(fits, ","), f.Compression) {
		v.clash("sink.files.compression", "sink.files.compression: %s files take %s, not %s", f.Format, fits, f.Compression)
	}
	if v.given("sink.files.csv") && f.Format != "csv" {
		v.clash("sink.files.csv", "sink.files.csv: the format is %s; add format: csv or remove it", f.Format)
	}
	if d := f.CSV.Delimiter; len(d) != 1 || strings.ContainsAny(d, "\"\r\n") {
		v.wrong("sink.files.csv.delimiter", "want one ASCII character other than the quote, have %q", d)
	}
}

func (v validator) delivery() {
	if v.Delivery != "at_most_once" {
		return
	}
	if k := v.Sink.Kafka; k != nil && k.Mode == "idempotent" {
		v.clash("delivery", "delivery: at_most_once cannot be kept by a Kafka sink with mode: idempotent: readers see records before their batch is recorded; use mode: transactional")
	}
	if v.Sink.HTTP != nil {
		v.clash("delivery", "delivery: at_most_once cannot be kept by an http sink: a request that is not answered is sent again; leave it out, and let the service honour the Idempotency-Key")
	}
}

func (v validator) rejects() {
	if v.MaxRejected.Set && v.OnError == "fail" {
		v.clash("max_rejected", "max_rejected: on_error: fail stops at the first one; remove one of the two")
	}
	if v.Rejected != nil && v.OnError != "reject" && v.OnError != "" {
		v.clash("rejected", "rejected: on_error: %s keeps no rejected rows; remove one of the two", v.OnError)
	}
	if v.Rejected != nil && !v.CanReject() && (v.Source.Rate != nil || v.Source.Orders != nil) {
		v.clash("rejected", "rejected: generated rows always decode; remove it")
	}
	if v.Rejected == nil && v.OnError == "reject" && v.CanReject() && v.Sink.Table == nil && v.Sink.Kind() != "" {
		v.missing("rejected", "only a table sink has a default for it: add rejected: {table: path}, or on_error: fail or drop")
	}
	if v.Rejected == nil {
		return
	}
	v.path("rejected.table", v.Rejected.Table)
	if t := v.Sink.Table; t != nil && t.Path != "" && v.Rejected.Table != "" {
		if _, inside := below(absolute(v.Config.dir, t.Path), absolute(v.Config.dir, v.Rejected.Table)); inside {
			v.clash("rejected.table", "rejected.table: it lies in the sink's table, whose readers would see its files; put it beside")
		}
	}
}

func (v validator) trigger() {
	if v.Trigger.Every != nil && v.Trigger.Once {
		v.clash("trigger.once", "trigger has every and once; want at most one of them")
	}
	if v.Trigger.MaxFiles > 0 && v.Source.Files == nil {
		v.clash("trigger.max_files", "trigger.max_files: only the files source has files; use max_rows or max_bytes")
	}
}

func (v validator) checkpoint() {
	v.path("checkpoint", v.Checkpoint)
	t := v.Sink.Table
	if v.Checkpoint == "" {
		if t == nil && v.Sink.Kind() != "" {
			v.missing("checkpoint", "only a table sink has a default for it: add checkpoint: path")
		}
	} else if t != nil && t.Path != "" {
		rest, inside := below(absolute(v.Config.dir, t.Path), absolute(v.Config.dir, v.Checkpoint))
		if first, _, _ := strings.Cut(rest, "/"); inside && !strings.HasPrefix(first, "_") && !strings.HasPrefix(first, ".") {
			v.clash("checkpoint", "checkpoint: it lies in the table under a name that readers take for data; use a name that begins with _, or a folder beside the table")
		}
	}
	v.readsBack()
}

// readsBack finds places that the query would write to and read from again. Of a glob only the last element may be special, as in/**: others name files that are not written.
func (v validator) readsBack() {
	f, t := v.Source.Files, v.Sink.Table
	if f == nil || f.Path == "" {
		return
	}
	input := absolute(v.Config.dir, f.Path)
	written := []struct{ at, path string }{{"checkpoint", v.Checkpoint}}
	if t != nil && t.Path != "" {
		if _, inside := below(absolute(v.Config.dir, t.Path), input); inside {
			v.clash("source.files.path", "source.files.path: it lies in the sink's table; the query would read its own output")
			return
		}
		written = append(written, struct{ at, path string }{"sink.table.path", t.Path})
	}
	if out := v.Sink.Files; out != nil {
		written = append(written, struct{ at, path string }{"sink.files.path", out.Path})
	}
	if v.Rejected != nil {
		written = append(written, struct{ at, path string }{"rejected.table", v.Rejected.Table})
	}
	folder := strings.TrimSuffix(input, "/**")
	if strings.ContainsAny(folder, `*?[{\`) {
		return
	}
	for _, w := range written {
		rest, inside := below(folder, absolute(v.Config.dir, w.path))
		if w.path != "" && inside && !strings.HasPrefix(rest, "_") && !strings.HasPrefix(rest, ".") && !strings.Contains(rest, "/_") && !strings.Contains(rest, "/.") {
			v.clash(w.at, "%s: it lies in the folder that the source reads; the query would read what it writes; put it beside", w.at)
		}
	}
}

func (v validator) s3(at string, a S3Access) {
	if (a.AccessKey.Reference == "") != (a.SecretKey.Reference == "") && v.given(at+".access_key") != v.given(at+".secret_key") {
		v.clash(at, "%s: access_key and secret_key go together; one is missing", at)
	}
	if a.Endpoint == "" {
		return
	}
	u, err := url.Parse(a.Endpoint)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		v.wrong(at+".endpoint", "want a URL such as http://127.0.0.1:9000")
	case u.User != nil:
		v.wrong(at+".endpoint", "a URL holds no credentials; they belong in access_key and secret_key as env: or file: references")
	}
}

// FormatOrDefault is the format that is configured, or the one that the name of the files ends in, or json.
func (s Source) FormatOrDefault() string {
	if s.Format != "" || s.Files == nil {
		return or(s.Format, "json")
	}
	name := strings.TrimSuffix(strings.TrimSuffix(s.Files.Path, ".gz"), ".zst")
	switch path.Ext(name) {
	case ".csv", ".tsv":
		return "csv"
	case ".parquet":
		return "parquet"
	}
	return "json"
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
