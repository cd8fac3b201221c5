package figures_test

import (
	"os"
	"path/filepath"
	"testing"

	"microbatch/internal/figures"
)

func TestFiguresAreAppendedToTheFileOfTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.jsonl")
	t.Setenv(figures.Environment, file)
	figures.Add(t, "kills at commit.after", 2)
	figures.Add(t, "seeds", 100)
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = "{\"name\":\"kills at commit.after\",\"value\":2}\n{\"name\":\"seeds\",\"value\":100}\n"
	if string(got) != want {
		t.Errorf("the file holds\n%swant\n%s", got, want)
	}
}

func TestWithoutTheVariableNothingIsWritten(t *testing.T) {
	t.Setenv(figures.Environment, "")
	figures.Add(t, "seeds", 100)
}
