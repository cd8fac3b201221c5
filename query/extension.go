package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"microbatch/internal/duck"
)

// ExtensionsVariable is the environment variable that lists folders with files of DuckDB's extensions, separated as in PATH.
const ExtensionsVariable = "MICROBATCH_DUCKDB_EXTENSIONS"

const httpfsFile = "httpfs.duckdb_extension"

// loaded is how an attempt to load httpfs ended.
type loaded struct{ err error }

// loadHTTPFS loads DuckDB's extension for S3 from a file, once in a session. The error says where it was looked for, or what DuckDB did not like.
func (s *Session) loadHTTPFS(ctx context.Context) error {
	if s.httpfs == nil {
		s.httpfs = &loaded{s.tryHTTPFS(ctx)}
	}
	return s.httpfs.err
}

func (s *Session) tryHTTPFS(ctx context.Context) error {
	version, err := s.conn.Text(ctx, "SELECT version()")
	if err != nil {
		return err
	}
	folders := extensionFolders(s.opts.Extensions)
	var tried []error
	for _, folder := range folders {
		for _, file := range extensionFiles(folder, version) {
			err := s.conn.Exec(ctx, "LOAD "+duck.Literal(file))
			if err == nil {
				return nil
			}
			tried = append(tried, fmt.Errorf("%s: %w", file, err))
		}
	}
	if len(tried) > 0 {
		return fmt.Errorf("DuckDB's httpfs cannot be loaded: %w", errors.Join(tried...))
	}
	return fmt.Errorf("there is no %s for DuckDB %s in %s", httpfsFile, version, strings.Join(folders, ", "))
}

func extensionFolders(given string) []string {
	var out []string
	if given != "" {
		out = append(out, given)
	}
	out = append(out, filepath.SplitList(os.Getenv(ExtensionsVariable))...)
	if home, err := os.UserHomeDir(); err == nil {
		out = append(out, filepath.Join(home, ".duckdb", "extensions"))
	}
	return out
}

// extensionFiles are the extension's files below a folder. Of those in folders named for a version, only this version's count.
func extensionFiles(folder, version string) []string {
	var out []string
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // a folder that cannot be read has nothing for us
		case d.IsDir() && looksLikeVersion(d.Name()) && d.Name() != version:
			return fs.SkipDir
		case !d.IsDir() && d.Name() == httpfsFile:
			out = append(out, path)
		}
		return nil
	})
	return out
}

func looksLikeVersion(name string) bool {
	return len(name) > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' && strings.Contains(name, ".")
}
