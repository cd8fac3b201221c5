// Package config is the pipeline file as typed values.
//
// Load reads the YAML, applies overrides of the command line, and reports every fault at once, each with file:line:column and what would be
// right: unknown keys, wrong types, missing keys, combinations that cannot work, secrets that cannot be had. It opens nothing but the file itself
// and files that hold secrets.
//
// The types are the one definition of the file: keys and defaults stand in their tags, explanations in their comments. The JSON Schema for
// editors and the reference in docs/pipeline.md are generated from them.
//
//	yaml:"key"        the key
//	default:"text"    what is taken when the key is left out
//	enum:"a,b"        the allowed words
//	need:"true"       the key may not be left out
//	min:"1"           the smallest number allowed
//	one:"true"        on the blank field of a struct: exactly one of its pointer, list and text keys is given
//
// Relative paths in the file are relative to the folder of the file, so that a pipeline means the same wherever it is started.
package config
