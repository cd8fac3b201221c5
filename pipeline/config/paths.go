package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

// pathFault says what is wrong with a folder or s3:// path; "" if nothing is.
func pathFault(p string) string {
	scheme, rest, ok := strings.Cut(p, "://")
	switch {
	case p == "" || !ok:
		return ""
	case scheme == "file":
		if !strings.HasPrefix(rest, "/") {
			return "want file:///absolute/path or just the path"
		}
		return ""
	case scheme == "s3a" || scheme == "s3n":
		return "write s3:// instead of " + scheme + "://"
	case scheme != "s3":
		return "want a folder or s3://bucket/prefix; " + scheme + ":// is not supported"
	}
	bucket, _, _ := strings.Cut(rest, "/")
	switch {
	case strings.Contains(bucket, "@"):
		return "a path holds no credentials; they belong in s3.access_key and s3.secret_key as env: or file: references"
	case bucket == "":
		return "the bucket is missing; want s3://bucket/prefix"
	}
	return ""
}

// absolute is the path with dir before it if it is relative. The s3:// form loses a trailing slash, file:// its scheme.
func absolute(dir, p string) string {
	if strings.HasPrefix(p, "s3://") {
		return strings.TrimRight(p, "/")
	}
	if u, ok := strings.CutPrefix(p, "file://"); ok {
		p = u
		if unescaped, err := url.PathUnescape(u); err == nil {
			p = unescaped
		}
	}
	if p == "" || filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// below reports whether inner is outer or lies in it, and if so the rest of the way.
func below(outer, inner string) (rest string, ok bool) {
	if inner == outer {
		return "", true
	}
	rest, ok = strings.CutPrefix(inner, strings.TrimRight(outer, "/")+"/")
	return rest, ok
}

// resolvePaths makes all paths absolute and fills in the ones that follow from others.
func (c *Config) resolvePaths() {
	abs := func(p *string) {
		if *p != "" {
			*p = absolute(c.dir, *p)
		}
	}
	abs(&c.Checkpoint)
	if f := c.Source.Files; f != nil {
		abs(&f.Path)
	}
	for _, t := range c.tls() {
		abs(&t.CA)
		abs(&t.Cert)
		abs(&t.Key)
	}
	if c.Rejected != nil {
		abs(&c.Rejected.Table)
	}
	if f := c.Sink.Files; f != nil {
		abs(&f.Path)
	}
	if h := c.Sink.HTTP; h != nil {
		abs(&h.Quarantine)
	}
	if f := c.Sink.ForeachBatch; f != nil {
		abs(&f.DuckDB)
	}
	t := c.Sink.Table
	if t == nil {
		return
	}
	abs(&t.Path)
	if c.Checkpoint == "" {
		c.Checkpoint = t.Path + "/" + DefaultCheckpoint
	}
	if c.Rejected == nil && c.CanReject() && c.OnError == "reject" {
		c.Rejected = &Rejected{Table: t.Path + "_rejected"}
	}
}

// tls are the settings of encrypted connections to Kafka.
func (c *Config) tls() (out []*TLS) {
	if k := c.Source.Kafka; k != nil && k.TLS != nil {
		out = append(out, k.TLS)
	}
	if k := c.Sink.Kafka; k != nil && k.TLS != nil {
		out = append(out, k.TLS)
	}
	return out
}

// DefaultCheckpoint is the checkpoint's folder in a table's, when none is configured: readers of tables skip names that begin with "_".
const DefaultCheckpoint = "_checkpoint"

// CanReject reports whether rows of the source may fail to decode.
func (c *Config) CanReject() bool { return c.Source.Kafka != nil || c.Source.Files != nil }
