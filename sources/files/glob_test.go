package files

import "testing"

func TestGlobsChooseWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		glob     string
		yes, not []string
	}{
		{"", []string{"a", "a/b/c.json"}, nil},
		{"*.json", []string{"a.json", ".json"}, []string{"a/b.json", "a.jsonl", "ajson"}},
		{"**/*.json", []string{"a.json", "a/b.json", "a/b/c.json"}, []string{"a/b.csv"}},
		{"a/**", []string{"a/b", "a/b/c"}, []string{"a", "ab/c", "b/a/c"}},
		{"a/**/z.csv", []string{"a/z.csv", "a/b/z.csv", "a/b/c/z.csv"}, []string{"z.csv", "a/bz.csv"}},
		{"**", []string{"a", "a/b"}, nil},
		{"log-?.gz", []string{"log-1.gz", "log-ä.gz"}, []string{"log-.gz", "log-12.gz", "log-/.gz"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x"}},
		{"[!a-c]x", []string{"dx"}, []string{"ax", "/x"}},
		{"[]]x", []string{"]x"}, []string{"ax"}},
		{"{2024,2025}-*/{a,b*}.csv", []string{"2024-1/a.csv", "2025-/bcd.csv"}, []string{"2026-1/a.csv", "2024-1/ab.csv"}},
		{"{a,{b,c}d}", []string{"a", "bd", "cd"}, []string{"b", "ad"}},
		{`a\*b`, []string{"a*b"}, []string{"axb"}},
		{"a,b}", []string{"a,b}"}, []string{"a"}},
		{"day=2026-01-01/*", []string{"day=2026-01-01/x"}, []string{"day=2026-01-02/x"}},
		{"a.b+(c)", []string{"a.b+(c)"}, []string{"aXb+(c)"}},
	} {
		p, err := compileGlob(c.glob)
		if err != nil {
			t.Errorf("%q: %v", c.glob, err)
			continue
		}
		for _, key := range c.yes {
			if !p.matches(key) {
				t.Errorf("%q does not match %q (%v)", c.glob, key, p.match)
			}
			if len(key) < len(p.prefix) || key[:len(p.prefix)] != p.prefix {
				t.Errorf("%q: the prefix %q is not one of %q", c.glob, p.prefix, key)
			}
		}
		for _, key := range c.not {
			if p.matches(key) {
				t.Errorf("%q matches %q (%v)", c.glob, key, p.match)
			}
		}
	}
	for _, bad := range []string{"[a", "{a", `a\`, "[z-a]"} {
		if _, err := compileGlob(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestSplitGlobCutsBeforeTheFirstSpecialCharacter(t *testing.T) {
	for path, want := range map[string][2]string{
		"/data/in":               {"/data/in", ""},
		"/data/in/*.json":        {"/data/in", "*.json"},
		"/data/2026-*/x/*.json":  {"/data", "2026-*/x/*.json"},
		"s3://b/p/**/*.parquet":  {"s3://b/p", "**/*.parquet"},
		"/*.json":                {"/", "*.json"},
		"*.json":                 {".", "*.json"},
		"in/{a,b}/part-[0-9].gz": {"in", "{a,b}/part-[0-9].gz"},
	} {
		if root, glob := SplitGlob(path); root != want[0] || glob != want[1] {
			t.Errorf("%s: %q %q, want %q", path, root, glob, want)
		}
	}
}

func TestURIsAreHadoops(t *testing.T) {
	r, err := newRoot(RootURI("/in put"))
	must0(t, err)
	for key, want := range map[string]string{
		"a b.json":       "file:///in%20put/a%20b.json",
		"x/100%.csv":     "file:///in%20put/x/100%25.csv",
		"ü+&=@:,;$()!~'": "file:///in%20put/ü+&=@:,;$()!~'",
		"q?#[]{}|\"<>^`": "file:///in%20put/q%3F%23%5B%5D%7B%7D%7C%22%3C%3E%5E%60",
		"bad\xffutf8\n":  "file:///in%20put/bad%FFutf8%0A",
		`back\slash`:     "file:///in%20put/back%5Cslash",
	} {
		got := r.uri(key)
		if got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
		if back, ok := r.key(got); !ok || back != key {
			t.Errorf("%s: key %q %v, want %q", got, back, ok, key)
		}
	}
	for _, c := range [][3]string{
		{"file:///in", "file:/in/a%20b", "a b"},
		{"file:///in", "file:///in/a%20b", "a b"},
		{"s3://b/p", "s3a://b/p/k", "k"},
		{"s3a://b/p/", "s3://b/p/k", "k"},
		{"file:///in", "file:///input/a", ""},
		{"file:///in", "file:///in/", ""},
	} {
		r, err := newRoot(c[0])
		must0(t, err)
		if key, ok := r.key(c[1]); key != c[2] && ok {
			t.Errorf("%v: %q %v", c, key, ok)
		}
	}
}

func TestHiddenAndTemporaryNames(t *testing.T) {
	for _, key := range []string{".a", "_a", "a/.b", "a/_b/c", "_SUCCESS", "x._COPYING_", "a/x.tmp", ".a.crc", "a.crc", "_delta_log/0.json"} {
		if !hidden(key) {
			t.Errorf("%q is not hidden", key)
		}
	}
	for _, key := range []string{"a", "a/b.json", "a_b/c.d", "tmp/x", "x.tmp.json"} {
		if hidden(key) {
			t.Errorf("%q is hidden", key)
		}
	}
}
