package pipeline

import "microbatch/pipeline/config"

// Config is a pipeline file, read and checked.
type Config = config.Config

// Load reads a pipeline file. Overrides have the form "path=value", where path joins keys by dots and value is YAML: "trigger.max_rows=1000".
// An error names all faults of the file, each with file:line:column.
func Load(file string, overrides ...string) (*Config, error) { return config.Load(file, overrides) }
