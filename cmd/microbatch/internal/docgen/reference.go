package main

import (
	"fmt"
	"strings"

	"microbatch/pipeline/config"
)

// pipelineReference is the reference of the pipeline file: a table for each mapping of keys.
func pipelineReference(root string) (string, error) {
	texts, err := comments(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	section(&b, "", config.Keys(), texts)
	return b.String(), nil
}

func section(b *strings.Builder, path string, keys []config.Key, texts map[string]string) {
	if path == "" {
		b.WriteString("### The file\n\n")
	} else {
		fmt.Fprintf(b, "### `%s`\n\n", path)
	}
	b.WriteString("| key | value | default | what it is |\n|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, form(k), fallback(k), cell(texts[k.Field]))
	}
	b.WriteString("\n")
	for _, k := range keys {
		inner := k
		name := k.Name
		for inner.Element != nil {
			if inner.Form == config.List {
				name += "[]"
			} else {
				name += ".<name>"
			}
			inner = *inner.Element
		}
		if len(inner.Keys) > 0 {
			section(b, strings.TrimPrefix(path+"."+name, "."), inner.Keys, texts)
		}
	}
}

func form(k config.Key) string {
	switch k.Form {
	case config.Number:
		if k.Min != "" && k.Min != "0" {
			return "whole number, at least " + k.Min
		}
		return "whole number"
	case config.Boolean:
		return "`true` or `false`"
	case config.Word, config.WordOrKeys:
		return cell(k.Words)
	case config.List:
		return "list of " + plural(form(*k.Element))
	case config.Mapping:
		return "keys"
	case config.Dictionary:
		return "name to " + form(*k.Element)
	}
	if len(k.Enum) > 0 {
		return "`" + strings.Join(k.Enum, "`, `") + "`"
	}
	return "text"
}

func plural(form string) string {
	if form == "text" {
		return "texts"
	}
	return form
}

func fallback(k config.Key) string {
	switch {
	case k.Need:
		return "required"
	case k.Group != "":
		return "one of these"
	case k.Default != "":
		return "`" + k.Default + "`"
	}
	return ""
}

// cell escapes what would end a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
