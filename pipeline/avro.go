package pipeline

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec/avro"
	"microbatch/codec/registry"
	"microbatch/internal/errcode"
	"microbatch/internal/kafkaclient"
	"microbatch/pipeline/config"
	"microbatch/sinks/kafka"
)

// registry is the client of a schema registry; nil if there is none.
func (b builder) registry(r *config.SchemaRegistry) (*registry.Client, error) {
	if r == nil {
		return nil, nil
	}
	c := registry.Config{URL: r.URL, User: r.User, Password: r.Password.Value(), Insecure: r.Insecure, RetryFor: b.RetryFor}
	if t := r.TLS; t != nil {
		c.DialTLS = (&kafkaclient.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName}).Dial
	}
	return registry.New(c)
}

// avroSchema reads a schema that is given as a file's path or as its text; nil if none is.
func (b builder) avroSchema(given string) (*avro.Schema, error) {
	text := strings.TrimSpace(given)
	if text == "" {
		return nil, nil
	}
	if text[0] == '{' {
		return avro.Parse(text)
	}
	file := text
	if !filepath.IsAbs(file) {
		file = filepath.Join(b.c.Dir(), file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, errcode.AvroSchema.Wrap(err, "", "the schema is neither a file nor JSON that begins with {")
	}
	s, err := avro.Parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// avroMessages is the format of Avro messages, and the columns of the schema that is given; nil if a registry has it.
func (b builder) avroMessages(s config.Source) (*avro.Format, *arrow.Schema, error) {
	client, err := b.registry(s.Kafka.SchemaRegistry)
	if err != nil {
		return nil, nil, err
	}
	given, err := b.avroSchema(s.Avro.Schema)
	if err != nil {
		return nil, nil, err
	}
	format, err := avro.New(avro.Options{Schema: given, Registry: client})
	if err != nil || given == nil {
		return format, nil, err
	}
	columns, err := given.Columns()
	if s.Schema != "" { // declared columns need not be all
		err = nil
	}
	return format, columns, err
}

// avroValues makes the values of a Kafka sink Avro.
func (b builder) avroValues(c *kafka.Config, k *config.KafkaSink) error {
	client, err := b.registry(k.SchemaRegistry)
	if err != nil {
		return err
	}
	given, err := b.avroSchema(k.Avro.Schema)
	if err != nil {
		return err
	}
	o := avro.ValuesOptions{Name: k.Avro.Record, Schema: given, Registry: client, Subject: k.Avro.Subject, LookUp: !k.Avro.AutoRegister}
	if o.Name == "" {
		o.Name = avro.DefaultName(k.Topic)
	}
	if o.Subject == "" {
		o.Subject = k.Topic + "-value"
	}
	c.Details = o.Name
	if given != nil {
		c.Details = fmt.Sprintf("%s %x", given.Name(), sha256.Sum256([]byte(given.Text())))
	}
	values := avro.NewValues(o)
	c.Format, c.Encoder = "avro", values.Encoder
	if client != nil {
		c.Details += ", ids of a registry"
		c.Schemas = values
	}
	return nil
}
