package config

import (
	"fmt"
	"strings"
)

const pageHead = "# `mcp-conform.yaml`\n" + `
This page is written by ` + "`go test ./internal/cli -run Generated -update`" + `; do not edit the page.

` + "`mcp-conform run` reads `mcp-conform.yaml`" + ` in the current folder, or the file that ` + "`--config`" + ` names (a
name that ends in .yaml or .yml; JSON files are clients' configurations). ` + "`mcp-conform init`" + `
writes one from what it finds on a server. ` + "`--no-config`" + ` reads none, and ` + "`--reference`" + ` needs none.

It says how to reach the server, which of its tools may be called, and which calls have a known
effect. If a run could not observe a requirement because none of the configured calls has the
necessary effect, the reports show the line to add. If a configured call does not have its effect,
the run prints a notice. Replace the placeholders NAME, VALUE, URI and {…} of suggested lines: a
value that still is one of them is an error.

Flags override environment variables, and those override the file. The variables of ` + "`--env`" + ` and
the headers of ` + "`--header`" + ` are added to those of the file. Paths are relative to the folder of the
file, except in ` + "`reports`" + `. If the command line names a server, all of ` + "`target`" + ` is ignored,
unless it names the URL in ` + "`target.url`" + `; all other keys apply. Unknown and repeated keys are
errors; anchors and aliases are not supported. Editors check the file against
[mcp-conform.schema.json](mcp-conform.schema.json) if its first line is

    # yaml-language-server: $schema=` + Repository + "/raw/main/docs/" + SchemaFile + `

## Which tools are called

By default a run calls only tools whose ` + "`readOnlyHint`" + ` is true. If a server has three or more of the
tools that the official conformance suite calls by name, such as test_simple_text, a run calls
those, too. A tool named in ` + "`tools.call` or `fixtures`" + ` may be called. ` + "`tools.never`" + ` excludes
tools that would otherwise be called; ` + "`tools.call` and `fixtures`" + ` must not name these.
` + "`--call-tools`" + ` replaces ` + "`tools.call`" + `, and ` + "`--call-tools none`" + ` forbids all calls. A run
first prints what the file permits.

mcp-conform knows the tools of the reference server, of server-everything and of the servers for the
official suite by their names, so they need no fixtures. The rules above decide which of them are
called.

A run learns what other tools do by calling each permitted tool once: how long the call takes, and what
the server sends meanwhile, shows whether the tool is slow, logs, sends requests to the client (for
sampling, elicitation or roots) or changes something. A fixture is more reliable, and the run reports
a call that does not do what its fixture says.

## Keys
`

// Page returns the documentation page of the configuration file, in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	top := Keys()
	for i := range top.Keys {
		top.Keys[i].describe(&b, "")
	}
	return b.String()
}

func (k *Key) describe(b *strings.Builder, path string) {
	path = joinPath(path, k.Name)
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n", path, k.About)
	lines := []string{k.describeValues()}
	if k.Flag != "" {
		lines = append(lines, "`--"+k.Flag+"`")
	}
	if k.Variable != "" {
		lines = append(lines, "`"+k.Variable+"`")
	}
	fmt.Fprintf(b, "\n%s\n", strings.Join(lines, " · "))
	if k.Example != "" {
		fmt.Fprintf(b, "\n    %s: %s\n", k.Name, k.Example)
	}
	if k.Kind != Mapping {
		return
	}
	for i := range k.Keys {
		k.Keys[i].describe(b, path)
	}
}

// describeValues returns a phrase that describes the values that the key takes.
func (k *Key) describeValues() string {
	switch k.Kind {
	case Choice:
		return "one of " + strings.Join(k.Values, ", ")
	case Duration:
		return "a duration, such as 10s"
	case Number:
		return "a number from 1 on"
	case Switch:
		return "true or false"
	case Texts:
		return "a string or a list of strings"
	case Scalars:
		return "names and their values"
	case Object:
		return "a mapping"
	case Mapping:
		if k.Name == "" { // an element, which has no heading
			return "a mapping with " + k.describeKeys()
		}
		return "a mapping"
	case Named:
		return "for each name, " + k.Of.describeValues()
	case Several:
		return k.Of.describeValues() + ", or a list of such mappings"
	default:
		return "a string"
	}
}

// describeKeys returns the names of a mapping's keys, and which of them are optional.
func (k *Key) describeKeys() string {
	var out []string
	for i := range k.Keys {
		name := "`" + k.Keys[i].Name + "`"
		if !k.Keys[i].Must {
			name += " (optional)"
		}
		out = append(out, name)
	}
	if last := len(out) - 1; last > 0 {
		return strings.Join(out[:last], ", ") + " and " + out[last]
	}
	return strings.Join(out, ", ")
}
