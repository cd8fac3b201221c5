package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"microbatch/internal/sourcecode"
)

// root is the module's folder, from this one.
const root = "../.."

// rule is a package, or a tree of packages if it ends in "/...", with the packages of ours that it may import (trees likewise).
type rule struct {
	pkg string
	may []string
	why string
}

// everywhere may be imported by all but ident: they know nothing of the project.
var everywhere = []string{"internal/errcode", "internal/secret", "internal/failpoint", "internal/bugs", "internal/retry", "internal/invariant"}

// rules go from the bottom up. The first rule that matches a package counts.
var rules = []rule{
	{"ident", nil, "vocabulary imports nothing"},
	{"guarantee", nil, "a computation on plain data"},
	{"schema", nil, "types are mapped to each other once, below everything"},
	{"batch", []string{"ident", "schema"}, "a batch is rows and numbers"},
	{"objstore", []string{"ident"}, "a contract has no implementation"},
	{"objstore/storetest", []string{"objstore/...", "internal/services", "internal/figures"}, "a conformance suite"},
	{"objstore/localfs/crashfs", []string{"ident", "objstore", "objstore/localfs"}, "a disk that loses power, for tests"},
	{"objstore/...", []string{"ident", "objstore"}, "adapters know their contract, not each other"},
	{"checkpointlog", []string{"ident", "objstore"}, "numbers and bytes: no Arrow, no sources, no tables"},
	{"arrowparquet", []string{"schema", "batch"}, "Parquet and Arrow, nothing of tables"},
	{"arrowparquet/parquettest", []string{"schema", "batch", "arrowparquet"}, "random data for tests"},
	{"codec", []string{"schema", "batch"}, "a contract"},
	{"codec/column", []string{"schema", "batch", "codec", "internal/recycle"}, "column builders shared by the text formats"},
	{"codec/textfile", []string{"schema", "batch", "codec"}, "lines of files, shared by the text formats"},
	{"codec/codectest", []string{"schema", "batch", "codec"}, "a conformance suite"},
	{"codec/parquet", []string{"schema", "batch", "codec", "codec/column", "arrowparquet"}, "the one format with a library of ours"},
	{"codec/registry", nil, "schemas by their ids, for formats whose messages have one"},
	{"codec/avro", []string{"schema", "batch", "codec", "codec/column", "codec/registry"}, "a format whose schemas a registry keeps"},
	{"codec/...", []string{"schema", "batch", "codec", "codec/column", "codec/textfile"}, "adapters know their contract, not each other"},
	{"sources", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore"}, "a contract"},
	{"sources/sourcetest", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore/...", "sources"}, "a conformance suite"},
	{"sources/kafka", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "checkpointlog", "sources", "internal/kafkaclient"}, "a cluster is reached in one way"},
	{"sources/...", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "checkpointlog", "sources"}, "adapters know their contract, not each other"},
	{"transforms", []string{"ident", "guarantee", "schema", "batch", "state"}, "a contract"},
	{"transforms/sql", []string{"ident", "guarantee", "schema", "batch", "state", "transforms", "internal/duck", "internal/recycle"}, "SQL by DuckDB"},
	{"transforms/...", []string{"ident", "guarantee", "schema", "batch", "state", "transforms"}, "adapters know their contract, not each other"},
	{"table/...", []string{"ident", "schema", "batch", "objstore", "arrowparquet", "table/..."}, "tables know nothing of engine and sinks"},
	{"sinks", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore"}, "a contract"},
	{"sinks/lakehouse", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "sinks", "table/..."}, "where engine and table meet"},
	{"sinks/foreachbatch", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "codec/column", "arrowparquet", "sinks", "internal/duck", "internal/sqlvars"}, "user code"},
	{"sinks/filestage", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "objstore/localfs", "sinks"}, "folders are renamed, which only a disk has"},
	{"sinks/sinktest", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore/...", "sinks"}, "a conformance suite"},
	{"sinks/kafka", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "sinks", "internal/kafkaclient"}, "a cluster is reached in one way"},
	{"sinks/postgres", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "sinks", "internal/sqlvars"}, "statements name the batch"},
	{"sinks/...", []string{"ident", "guarantee", "schema", "batch", "codec", "objstore", "sinks"}, "adapters know their contract, not each other"},
	{"engine", []string{"ident", "guarantee", "schema", "batch", "objstore", "codec", "sources", "transforms", "sinks", "checkpointlog", "state"}, "the engine knows contracts, never adapters"},
	{"query", []string{"ident", "schema", "batch", "objstore", "arrowparquet", "table/...", "internal/duck"}, "snapshots as views"},
	{"checker", []string{"objstore"}, "independent of what it checks"},
	{"internal/duck", []string{"batch"}, "one DuckDB session"},
	{"internal/kafkaclient", nil, "what the Kafka source and sink share, and nothing of either"},
	{"internal/targets", []string{"checker", "internal/kafkaclient", "internal/duck"}, "independent of the sinks whose positions it reads"},
	{"internal/errcode", []string{"objstore"}, "codes for all"},
	{"internal/failpoint", nil, ""}, {"internal/bugs", nil, ""}, {"internal/retry", nil, ""}, {"internal/secret", nil, ""}, {"internal/invariant", nil, ""},
	{"internal/...", []string{"..."}, "tools and tests may know everything"},
	{"pipeline/...", []string{"..."}, "the one place that names concrete adapters"},
	{"cmd/...", []string{"..."}, "the program"},
	{"examples/...", []string{"..."}, "programs of users"},
}

// drivers are libraries that only the named packages may import.
var drivers = map[string][]string{
	"github.com/twmb/franz-go":          {"sources/kafka", "sinks/kafka", "codec/registry", "internal/...", "pipeline/..."},
	"github.com/hamba/avro":             {"codec/avro"},
	"github.com/aws/aws-sdk-go-v2":      {"objstore/s3", "internal/..."},
	"github.com/jackc/pgx":              {"sinks/postgres", "internal/...", "examples/..."},
	"github.com/parquet-go/parquet-go":  {"arrowparquet", "checker", "internal/..."},
	"github.com/duckdb/duckdb-go":       {"internal/duck", "internal/bench", "internal/e2e"},
	"github.com/goccy/go-yaml":          {"pipeline/..."},
	"github.com/spf13/cobra":            {"cmd/..."},
	"github.com/prometheus":             {"cmd/..."},
	"github.com/segmentio/kafka-go":     {},
	"github.com/johannesboyne/gofakes3": {},
	"github.com/apache/arrow-go":        nil, // anywhere but in arrowFree
	"github.com/RoaringBitmap/roaring":  {"table/..."},
}

// arrowFree packages work with numbers and bytes.
var arrowFree = []string{"ident", "objstore", "objstore/...", "checkpointlog"}

func TestImportsGoDownOnly(t *testing.T) {
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		pkg, test := path.Dir(file), strings.HasSuffix(file, "_test.go")
		r, ok := find(pkg)
		if !ok {
			t.Errorf("%s: package %s has no rule", file, pkg)
			return
		}
		for _, imp := range importsOf(f) {
			ours, isOurs := strings.CutPrefix(imp, "microbatch/")
			switch {
			case isOurs && ours != pkg && !test && !matchAny(r.may, ours) && !(pkg != "ident" && slices.Contains(everywhere, ours)):
				t.Errorf("%s: %s may not import %s: %s", file, pkg, ours, r.why)
			case !isOurs && !test:
				checkDriver(t, pkg, file, imp)
			}
		}
	})
}

// checkDriver reports a library that a package may not use. Tests may use any.
func checkDriver(t *testing.T, pkg, file, imp string) {
	for driver, may := range drivers {
		if !strings.HasPrefix(imp, driver) {
			continue
		}
		if may == nil && matchAny(arrowFree, pkg) {
			t.Errorf("%s: %s may not import %s: it works with numbers and bytes", file, pkg, imp)
		}
		if may != nil && !matchAny(may, pkg) {
			t.Errorf("%s: %s may not import %s: only %v may", file, pkg, imp, may)
		}
	}
}

func TestNoInitAndADocForEveryPackage(t *testing.T) {
	docs := map[string]bool{}
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		pkg := path.Dir(file)
		docs[pkg] = docs[pkg] || f.Doc.Text() != ""
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: no init functions: nothing happens before main", file)
			}
		}
	})
	for pkg, has := range docs {
		if !has {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

func find(pkg string) (rule, bool) {
	for _, r := range rules {
		if match(r.pkg, pkg) {
			return r, true
		}
	}
	return rule{}, false
}

func matchAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, pkg) })
}

func match(pattern, pkg string) bool {
	tree, isTree := strings.CutSuffix(pattern, "...")
	return pattern == pkg || isTree && (strings.HasPrefix(pkg, tree) || pkg == strings.TrimSuffix(tree, "/"))
}

// importsOf are the paths that a file imports.
func importsOf(f *ast.File) (paths []string) {
	for _, spec := range f.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}
