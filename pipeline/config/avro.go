package config

import (
	"net/url"
	"regexp"
)

// SchemaRegistry keeps the schemas of records, for `format: avro`: Confluent's, or one with its API (Apicurio, Karapace, Redpanda).
type SchemaRegistry struct {
	// Its address: `https://host:port`, and the path of the API if it has one (Apicurio: `/apis/ccompat/v7`).
	URL string `yaml:"url" need:"true"`
	// The user. Left out: no login.
	User string `yaml:"user"`
	// The password, as `env:NAME` or `file:PATH`.
	Password Secret `yaml:"password"`
	// How https is made. Left out: the system's certificates are trusted.
	TLS *TLS `yaml:"tls"`
	// Allow a login without https, which sends the password readable.
	Insecure bool `yaml:"insecure"`
}

// AvroSource says how Avro messages are read that carry no id of their schema.
type AvroSource struct {
	// The schema of all messages: a file (.avsc), by its path from the pipeline file, or the JSON itself. Without a schema registry.
	Schema string `yaml:"schema"`
}

// AvroSink says by which schema rows are written as Avro.
type AvroSink struct {
	// The schema: a file (.avsc), by its path from the pipeline file, or the JSON itself. Each column has a field, each field a column or a default. Left out: made of the columns.
	Schema string `yaml:"schema"`
	// The full name of the record, `com.example.Order`, of a schema that is made of the columns. Left out: the topic's name.
	Record string `yaml:"record"`
	// The subject in the schema registry. Left out: `<topic>-value`.
	Subject string `yaml:"subject"`
	// Register the schema if it is not. `off`: one that is not registered stops the query.
	AutoRegister bool `yaml:"auto_register" default:"on"`
}

var recordName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// avroSource checks what only Avro has.
func (v validator) avroSource(format string) {
	k := v.Source.Kafka
	keyed := k != nil && k.SchemaRegistry != nil
	if format != "avro" {
		if v.given("source.avro") {
			v.clash("source.avro", "source.avro: the format is %s; add format: avro or remove it", format)
		}
		if keyed {
			v.clash("source.kafka.schema_registry", "source.kafka.schema_registry: the format is %s; add format: avro or remove it", format)
		}
		return
	}
	if v.Source.Files != nil {
		v.clash("source.format", "source.format: Avro is read from Kafka records; files are json, csv or parquet")
		return
	}
	if given := v.Source.Avro.Schema != ""; given && keyed {
		v.clash("source.avro.schema", "source.avro.schema: with a schema registry each message says its schema by itself; remove one of the two")
	} else if !given && !keyed && k != nil {
		v.missing("source.kafka.schema_registry", "Avro cannot be read without the schema that it was written with: name the registry that keeps it, or give it by source.avro.schema")
	}
	if keyed {
		v.schemaRegistry("source.kafka.schema_registry", k.SchemaRegistry)
	}
}

// avroSink checks what only Avro has.
func (v validator) avroSink(k *KafkaSink) {
	const at = "sink.kafka."
	if k.Format != "avro" {
		for _, key := range []string{"avro", "schema_registry"} {
			if v.given(at + key) {
				v.clash(at+key, at+"%s: the format is %s; add format: avro or remove it", key, k.Format)
			}
		}
		return
	}
	if r := k.Avro.Record; r != "" && k.Avro.Schema != "" {
		v.clash(at+"avro.record", at+"avro.record: the schema that is given has its own name; remove one of the two")
	} else if r != "" && !recordName.MatchString(r) {
		v.wrong(at+"avro.record", "want names of letters, digits and _, joined by dots, such as com.example.Order")
	}
	if k.SchemaRegistry != nil {
		v.schemaRegistry(at+"schema_registry", k.SchemaRegistry)
		if k.TopicColumn != "" && k.Avro.Subject == "" {
			v.missing(at+"avro.subject", "with topic_column records go to several topics: say under which subject the one schema of all is registered")
		}
		return
	}
	for _, key := range []string{"subject", "auto_register"} {
		if v.given(at + "avro." + key) {
			v.clash(at+"avro."+key, at+"avro.%s: there is no schema registry; add schema_registry or remove it", key)
		}
	}
}

func (v validator) schemaRegistry(at string, r *SchemaRegistry) {
	u, err := url.Parse(r.URL)
	switch {
	case r.URL == "":
		return
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil:
		v.wrong(at+".url", "want http://host:port or https://host:port, without user and password")
		return
	case u.Scheme == "http" && r.TLS != nil:
		v.clash(at+".tls", "%s.tls: the address is http; use https or remove it", at)
	case u.Scheme == "http" && r.User != "" && !r.Insecure:
		v.clash(at+".user", "%s.user: http sends the password readable; use https, or accept it by insecure: true", at)
	}
	if (r.User == "") != (r.Password.Reference == "") && v.given(at+".user") != v.given(at+".password") {
		v.clash(at, "%s: user and password go together; one is missing", at)
	}
	if t := r.TLS; t != nil && (t.Cert == "") != (t.Key == "") {
		v.clash(at+".tls", "%s.tls: cert and key go together; one is missing", at)
	}
}
