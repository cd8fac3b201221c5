package sqlvars

import (
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	literals := map[string]string{"batch_id": "7", "query_id": "'q''1'"}
	for sql, want := range map[string]string{
		"SELECT $batch_id, $query_id":                 "SELECT 7, 'q''1'",
		"$batch_id+$batch_id":                         "7+7",
		"WHERE a = '$batch_id' AND \"$batch_id\" = 1": "WHERE a = '$batch_id' AND \"$batch_id\" = 1",
		"'it''s $batch_id' || $batch_id":              "'it''s $batch_id' || 7",
		"-- $batch_id\n$batch_id /* $nobody */":       "-- $batch_id\n7 /* $nobody */",
		"$$ $nobody $$ $f$ $nobody $f$ $batch_id":     "$$ $nobody $$ $f$ $nobody $f$ 7",
		"$1 + $2":           "$1 + $2",
		"'no end $batch_id": "'no end $batch_id",
		"":                  "",
	} {
		if have, err := Fill(sql, literals); err != nil || have != want {
			t.Errorf("%s: %q, %v", sql, have, err)
		}
	}
	_, err := Fill("SELECT $batchid", literals)
	if err == nil || !strings.Contains(err.Error(), "$batchid is not known; there are $batch_id, $query_id") {
		t.Error(err)
	}
}

func TestVerb(t *testing.T) {
	for sql, want := range map[string]string{
		"commit": "COMMIT", " ;\n-- a\n/* b */ Begin Transaction": "BEGIN", "(SELECT 1)": "SELECT", "'x'": "", "": "", "-- only": "", "/* open": "",
	} {
		if have := Verb(sql); have != want {
			t.Errorf("%q: %q, want %q", sql, have, want)
		}
	}
}

func TestTextIsOneLiteral(t *testing.T) {
	if got := Text(`a'b\`); got != `'a''b\'` {
		t.Error(got)
	}
}
