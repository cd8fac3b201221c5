package config

import (
	"os"
	"path/filepath"
	"reflect"

	"microbatch/internal/errcode"
)

// Load reads a pipeline file and applies overrides of the form "path=value". An error is a *Faults, which names all that is wrong.
func Load(file string, overrides []string) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, errcode.PipelineRead.Wrap(cause(err), file, "the pipeline file cannot be read")
	}
	return Parse(file, data, overrides)
}

// cause is a path error without the path, which the message names already.
func cause(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}

// Parse is Load for a text. file is its name in messages; relative paths are relative to its folder.
func Parse(file string, data []byte, overrides []string) (*Config, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, errcode.PipelineRead.Wrap(err, file, "the folder of the file cannot be found")
	}
	faults := &Faults{}
	root := parse(file, data, faults)
	if len(faults.list) > 0 {
		return nil, faults.err() // what follows from broken YAML would only distract
	}
	for _, o := range overrides {
		override(root, o, faults)
	}
	c := &Config{file: file, dir: dir, places: map[string]place{}}
	d := &decoder{dir: dir, faults: faults, places: c.places}
	d.value(root, reflect.ValueOf(c).Elem(), "", key{})
	v := validator{Config: c, decoder: d}
	v.validate()
	if err := faults.err(); err != nil {
		return nil, err
	}
	c.resolvePaths()
	return c, nil
}

// File is the name of the file as it was given.
func (c *Config) File() string { return c.file }

// Dir is the folder of the file, which relative paths are relative to.
func (c *Config) Dir() string { return c.dir }

// Place is where the value at a path of keys ("sink.table.path") was written, as file:line:column.
func (c *Config) Place(path string) string {
	d := decoder{places: c.places}
	return d.at(path).String()
}
