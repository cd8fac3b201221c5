package security

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"microbatch/internal/figures"
	"microbatch/internal/sourcecode"
)

const root = "../.."

// program tells whether a file is part of the program, not of its tests and tools.
func program(t *testing.T) func(file string) bool {
	t.Helper()
	linked := map[string]bool{}
	for pkg := range strings.Lines(goList(t, "-deps", "-tags", "duckdb_arrow", "./cmd/microbatch")) {
		if dir, ours := strings.CutPrefix(strings.TrimSpace(pkg), "microbatch/"); ours {
			linked[dir] = true
		}
	}
	if !linked["engine"] {
		t.Fatal("the program has no engine")
	}
	return func(file string) bool { return linked[filepath.Dir(file)] && !strings.HasSuffix(file, "_test.go") }
}

// Certificates are always checked, and no connection is made with a TLS older than 1.2. Not even tests switch that off: what they show would not hold.
func TestCertificatesAreCheckedAndTLSIsNew(t *testing.T) {
	product := program(t)
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if n.Name == "Insecure"+"SkipVerify" {
					t.Errorf("%s does not check certificates", file)
				}
			case *ast.CompositeLit:
				if isSelector(n.Type, "tls", "Config") && product(file) && !setsMinVersion(n) {
					t.Errorf("%s: a tls.Config without MinVersion: tls.VersionTLS12 or later", file)
				}
			}
			return true
		})
	})
}

func setsMinVersion(config *ast.CompositeLit) bool {
	return slices.ContainsFunc(config.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := kv.Key.(*ast.Ident)
		return ok && key.Name == "MinVersion" && (isSelector(kv.Value, "tls", "VersionTLS12") || isSelector(kv.Value, "tls", "VersionTLS13"))
	})
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// What the program may not do at all, and the few places that may.
func TestTheProgramKeepsItsHandsOff(t *testing.T) {
	imports := map[string]struct {
		why string
		may []string
	}{
		"net/http/pprof": {"profiles show memory to whoever reaches the port", nil},
		"expvar":         {"it serves the command line", nil},
		"plugin":         {"it loads code by name", nil},
		"os/exec":        {"only the user's own program is run, and the demo", []string{"sinks/foreachbatch/", "cmd/microbatch/internal/cli/demo_child.go"}},
		"net/http":       {"requests and servers have one place each", []string{"objstore/s3/", "sinks/foreachbatch/http.go", "codec/registry/", "cmd/microbatch/internal/status/"}},
		"net/http/cgi":   {"no requests start programs", nil},
		"text/template":  {"no text is made of templates", nil},
		"encoding/gob":   {"it is not made for bytes of others", nil},
	}
	calls := map[string]string{ // package.Name: why not
		"http.Get": "it follows redirects", "http.Post": "it follows redirects", "http.Head": "it follows redirects", "http.DefaultClient": "it follows redirects and has no time limit",
		"http.ListenAndServe": "it has no time limits", "http.DefaultServeMux": "other packages add to it", "filepath.EvalSymlinks": "os.Root keeps within a folder",
		"syscall.Exec": "no other program takes this one's place",
	}
	product := program(t)
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		if !product(file) {
			return
		}
		for _, i := range f.Imports {
			rule, listed := imports[strings.Trim(i.Path.Value, `"`)]
			if listed && !slices.ContainsFunc(rule.may, func(p string) bool { return strings.HasPrefix(file, p) }) {
				t.Errorf("%s imports %s: %s", file, i.Path.Value, rule.why)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && calls[x.Name+"."+s.Sel.Name] != "" {
					t.Errorf("%s uses %s.%s: %s", file, x.Name, s.Sel.Name, calls[x.Name+"."+s.Sel.Name])
				}
			}
			return true
		})
	})
}

// Secrets leave their wrapper only where they are handed to a library.
func TestSecretsAreExposedInFewPlaces(t *testing.T) {
	product := program(t)
	may := []string{"internal/secret/secret.go", "objstore/s3/config.go", "internal/kafkaclient/access.go", "codec/registry/client.go", "sinks/postgres/session.go", "internal/targets/postgres.go", "sinks/foreachbatch/http.go", "query/"}
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		if !product(file) || slices.ContainsFunc(may, func(p string) bool { return strings.HasPrefix(file, p) }) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Expose" {
					t.Errorf("%s exposes a secret", file)
				}
			}
			return true
		})
	})
}

// Every fuzz target says what holds, and those that this page of promises rests on are there.
func TestEveryFuzzTargetSaysWhatHolds(t *testing.T) {
	targets := map[string]bool{}
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Fuzz") || !strings.HasSuffix(file, "_test.go") {
				continue
			}
			targets[filepath.Dir(file)+" "+fn.Name.Name] = true
			if len(fn.Doc.Text()) < 40 {
				t.Errorf("%s: %s does not say what holds", file, fn.Name.Name)
			}
		}
	})
	for _, want := range []string{
		"checkpointlog FuzzParseOffsets", "checkpointlog FuzzOwnOffsets", "checkpointlog FuzzParseCommits", "checkpointlog FuzzSealed", "checkpointlog FuzzCompactLog",
		"table/action FuzzDecode", "table/action FuzzDecodePath", "table/translog FuzzLog", "table/translog FuzzCheckpointJSON", "table/translog FuzzCheckpointParquet", "table/translog FuzzLogNames",
		"table/datafile FuzzPartitionDirectory", "table/datafile FuzzPartitionValue", "table/datafile FuzzVector", "table/datafile FuzzVectorOfALog",
		"pipeline/config FuzzParse", "pipeline/config FuzzSecretsAreNeverPrinted", "codec/json FuzzDecode", "codec/csv FuzzSplit", "codec/csv FuzzEncoder", "codec/csv FuzzStandardLibrary", "codec/parquet FuzzDecode", "codec/avro FuzzDecode",
		"arrowparquet FuzzOpen", "schema FuzzParseDDL", "schema FuzzFromDelta", "sources/kafka FuzzAnswers", "sources/kafka FuzzPosition", "sources/files FuzzSeenLogLine", "sources/files FuzzOffset",
		"sources/files FuzzInflate", "transforms/project FuzzExpressions", "internal/duck FuzzQuoting", "objstore/s3 FuzzAnswers", "objstore FuzzValidKey", "cmd/microbatch/internal/status FuzzRequests",
	} {
		if !targets[want] {
			t.Errorf("there is no target %s", want)
		}
	}
	figures.Add(t, "fuzz targets", len(targets))
}
