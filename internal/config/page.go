package config

import (
	"fmt"
	"strings"
)

const pageHead = `# ` + "`mcp-conform.yaml`" + `

This page is written by ` + "`go test ./internal/cli -run Generated -update`" + `; do not edit the page.

The configuration file says how to reach the server, which of its tools may be called, and which
tool calls make the server do something specific, such as log. For example:

    target:
      command: [node, server.js]
    tools:
      call: [safe, create-note]
    fixtures:
      progress: {tool: import, arguments: {file: demo.csv}}

` + "`mcp-conform init -- node server.js`" + ` writes a file from what it finds on the server. ` + "`mcp-conform run`" + `
reads ` + "`mcp-conform.yaml`" + ` in the current folder, or the file that ` + "`--config`" + ` names. (The name must end
in .yaml or .yml: a JSON file is taken for the configuration of a client.) With ` + "`--no-config`" + ` a run
reads no file; with ` + "`--reference`" + ` it reads one only if ` + "`--config`" + ` names it.

If a run could not observe a requirement because no configured call makes the server show it, the
reports show the line to add. Replace the placeholders NAME, VALUE, URI and {…} of such lines: a
placeholder as a value is an error. If a configured call does not have its effect, the run prints a
notice.

| rule | details |
|---|---|
| what overrides what | flags override environment variables, and those override the file. Exceptions: the variables of ` + "`--env`" + ` and the headers of ` + "`--header`" + ` are added to those of the file |
| if the command line names a server | all of ` + "`target`" + ` is ignored, unless the command line names the URL in ` + "`target.url`" + `. All other keys apply |
| paths | relative to the folder of the file; in ` + "`reports`" + ` relative to the current folder |
| errors | unknown and repeated keys, anchors and aliases |

Editors check the file against [mcp-conform.schema.json](mcp-conform.schema.json) if its first line is

    # yaml-language-server: $schema=` + Repository + "/raw/main/docs/" + SchemaFile + `

## Which tools are called

| setting | tools that a run calls |
|---|---|
| by default | those whose ` + "`readOnlyHint`" + ` is true. If a server offers three or more of the tools that the official conformance suite calls by name, such as test_simple_text, also the tools of this suite |
| ` + "`tools.call`" + ` | replaces the default: ` + "`safe`" + ` (the default), ` + "`all`" + `, ` + "`none`" + `, or the tools that it names |
| ` + "`fixtures`" + ` | also those that it names |
| ` + "`tools.never`" + ` | never those that it names; ` + "`tools.call`" + ` and ` + "`fixtures`" + ` must not name them |
| ` + "`--call-tools`" + ` | replaces ` + "`tools.call`" + `; ` + "`--call-tools none`" + ` forbids all calls |

At its start a run prints which tools the file allows it to call.

To judge progress, logging, sampling and the like, a run needs a tool with that effect. It finds one
in this order:

1. It uses a *fixture*: a call in the file that is known to have the effect. If the call does not have
   this effect, the run reports that.
2. It uses a tool that mcp-conform knows by its name: a tool of the reference server, of
   server-everything or of a server for the official suite. The table above decides whether it may be
   called.
3. It calls once each permitted tool that it does not know. How long the call takes, and what the
   server sends meanwhile, shows whether the tool is slow, logs, sends requests to the client (for
   sampling, elicitation or roots) or changes something. A fixture is more reliable.

## Keys

Each entry says what the key means, which values it takes, which flag and environment variable
override it (if there are any), and gives an example.
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
	case List:
		return "a list of strings"
	case Scalars:
		return "a mapping of names to values"
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
