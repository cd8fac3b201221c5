package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"microbatch/internal/duck"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

// addFiles makes the table a view over DuckDB's own reader, or says why that cannot be.
func (s *Session) addFiles(ctx context.Context, o *opened) error {
	if len(o.files) == 0 {
		return s.addEmpty(ctx, o)
	}
	root, err := s.reach(ctx, o)
	if err != nil {
		return err
	}
	if strings.Contains(root, "=") && len(o.partitionBy) > 0 {
		return fmt.Errorf("%s looks like a partition itself", root)
	}
	paths, err := o.paths(root)
	if err != nil {
		return err
	}
	same := o.sameColumns()
	first := paths
	if same { // then the newest is enough to make the view
		first = paths[:1]
	}
	list := s.conn.List(first, same)
	if err := s.createView(ctx, o.name, o.readParquet(list, same)); err != nil {
		list.Drop()
		return fmt.Errorf("DuckDB says: %w", err)
	}
	list.Set(paths)
	s.lists = append(s.lists, list)
	return nil
}

// addEmpty is a view of no rows.
func (s *Session) addEmpty(ctx context.Context, o *opened) error {
	items := make([]string, o.schema.NumFields())
	for i, f := range o.schema.Fields() {
		items[i] = fmt.Sprintf("CAST(NULL AS %s) AS %s", typeSQL(f.Type), duck.Ident(f.Name))
	}
	return s.createView(ctx, o.name, "SELECT "+strings.Join(items, ", ")+" WHERE false")
}

// reach is where DuckDB finds the table's root, or why it does not.
func (s *Session) reach(ctx context.Context, o *opened) (string, error) {
	place := o.store.URL()
	if filepath.IsAbs(place) {
		return place, nil
	}
	u, err := url.Parse(place)
	switch {
	case err != nil || u.Scheme != "s3":
		return "", fmt.Errorf("DuckDB does not know the store %s", place)
	case o.s3 == nil:
		return "", errors.New("DuckDB was given no credentials for the bucket")
	}
	if err := s.loadHTTPFS(ctx); err != nil {
		return "", err
	}
	return place, s.createSecret(ctx, u.Host, o.s3)
}

// createSecret tells DuckDB how to reach a bucket.
func (s *Session) createSecret(ctx context.Context, bucket string, a *S3) error {
	options := []string{"TYPE s3", "SCOPE " + duck.Literal("s3://"+bucket)}
	add := func(name, value string) {
		if value != "" {
			options = append(options, name+" "+duck.Literal(value))
		}
	}
	if a.AccessKey.IsZero() || a.SecretKey.IsZero() {
		return errors.New("DuckDB was given no credentials for the bucket")
	}
	add("KEY_ID", a.AccessKey.Expose())
	add("SECRET", a.SecretKey.Expose())
	if !a.SessionToken.IsZero() {
		add("SESSION_TOKEN", a.SessionToken.Expose())
	}
	add("REGION", a.Region)
	if a.Endpoint != "" {
		u, err := url.Parse(a.Endpoint)
		if err != nil {
			return fmt.Errorf("endpoint %q: %w", a.Endpoint, err)
		}
		add("ENDPOINT", u.Host)
		options = append(options, fmt.Sprintf("USE_SSL %t", u.Scheme == "https"))
	}
	if a.PathStyle {
		add("URL_STYLE", "path")
	}
	if err := s.conn.Exec(ctx, "CREATE OR REPLACE SECRET "+duck.Ident("bucket_"+bucket)+" ("+strings.Join(options, ", ")+")"); err != nil {
		return fmt.Errorf("DuckDB refuses the secret for bucket %s", bucket) // its message may quote the SQL
	}
	return nil
}

// paths are the files as DuckDB names them, the newest first: DuckDB takes the columns' types from the first. An error says why DuckDB
// must not read them.
func (o *opened) paths(root string) ([]string, error) {
	slices.SortStableFunc(o.files, func(a, b *action.Add) int { return cmp.Compare(b.Modified, a.Modified) })
	root = strings.TrimSuffix(root, "/") + "/"
	if isPattern(root) {
		return nil, fmt.Errorf("DuckDB would take %s for a pattern", root)
	}
	var text strings.Builder // of all paths, which are of about one length
	text.Grow(len(o.files) * (len(root) + len(o.files[0].Path) + 8))
	ends := make([]int, len(o.files))
	for i, add := range o.files {
		if add.DeletionVector != nil {
			return nil, errors.New("some of its rows are deleted by deletion vectors")
		}
		key, err := datafile.Key(o.store, add.Path)
		if err != nil {
			return nil, err
		}
		if err := inDirectories(key, o.partitionBy, add.PartitionValues); err != nil {
			return nil, err
		}
		if isPattern(key) {
			return nil, fmt.Errorf("DuckDB would take %s for a pattern", key)
		}
		text.WriteString(root)
		text.WriteString(key)
		ends[i] = text.Len()
	}
	paths, from := make([]string, len(o.files)), 0
	for i, end := range ends {
		paths[i], from = text.String()[from:end], end
	}
	return paths, nil
}

func isPattern(path string) bool {
	return strings.IndexByte(path, '*') >= 0 || strings.IndexByte(path, '?') >= 0 || strings.IndexByte(path, '[') >= 0
}

const nullDirectory = "__HIVE_DEFAULT_PARTITION__"

// inDirectories is nil if DuckDB finds in the directories of a key exactly what the log says of its partition values.
func inDirectories(key string, partitionBy []string, values map[string]*string) error {
	if len(partitionBy) == 0 && strings.IndexByte(key, '/') < 0 {
		return nil
	}
	parts := strings.Split(key, "/")
	parts = parts[:len(parts)-1]
	same := len(parts) == len(partitionBy)
	for i := 0; same && i < len(parts); i++ {
		name, escaped, ok := strings.Cut(parts[i], "=")
		value, known := values[partitionBy[i]]
		same = ok && known && name == partitionBy[i] && directorySays(escaped, value)
		if same && value != nil && strings.EqualFold(*value, "NULL") {
			return fmt.Errorf("DuckDB would take %s for null", parts[i])
		}
	}
	if !same {
		return fmt.Errorf("the partition values of %s stand in the log alone", key)
	}
	return nil
}

func directorySays(escaped string, value *string) bool {
	if value == nil || *value == "" {
		return escaped == nullDirectory
	}
	text, err := url.PathUnescape(escaped)
	return err == nil && text == *value && text != nullDirectory
}

// readParquet is the SELECT over the files in a list: all columns by name, in the types of the table. same: every file has every column.
func (o *opened) readParquet(list *duck.List, same bool) string {
	items := make([]string, o.schema.NumFields())
	for i, f := range o.schema.Fields() {
		items[i] = fmt.Sprintf("CAST(%s AS %s) AS %[1]s", duck.Ident(f.Name), typeSQL(f.Type))
	}
	partitions := "hive_partitioning = false"
	if len(o.partitionBy) > 0 {
		types := make([]string, len(o.partitionBy))
		for i, column := range o.partitionBy {
			types[i] = duck.Ident(column) + ": VARCHAR" // the log's text, which the view casts
		}
		partitions = "hive_partitioning = true, hive_types_autocast = false, hive_types = {" + strings.Join(types, ", ") + "}"
	}
	return fmt.Sprintf("SELECT %s FROM read_parquet(%s, union_by_name = %t, %s)", strings.Join(items, ", "), list.SQL(), !same, partitions)
}
