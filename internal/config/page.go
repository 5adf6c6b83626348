package config

import (
	"fmt"
	"strings"
)

const pageHead = "# `mcp-conform.yaml`\n" + `
Written by ` + "`go test ./internal/cli -run Generated -update`" + `; do not edit it.

` + "`mcp-conform run`" + ` reads this file in the current folder, or the one that ` + "`--config`" + ` names (a
name that ends in .yaml or .yml; JSON files are clients' configurations). ` + "`mcp-conform init`" + `
writes one from what it finds on a server. ` + "`--no-config`" + ` reads none, and ` + "`--reference`" + ` needs none.

It tells how the server is reached, which of its tools may be called, and which calls are known
to do something. What a run could not observe because no such call is known is in the reports
with the line that would change it. A call that was made and seen not to do what it is named for is
told by a notice of the run, and what still has a NAME or a {…} in it is refused.

Flags outweigh variables of the environment, and those the file. Of ` + "`env` and `headers`" + ` what the
flags say is added. Paths are seen from the folder of the file. Where the command line names a
server, the one in the file is left aside, and all else holds. Keys that are not known, and keys that
are there twice, are errors; anchors and aliases are not read. Editors check the file by
[mcp-conform.schema.json](mcp-conform.schema.json), if its first line is

    # yaml-language-server: $schema=docs/mcp-conform.schema.json

## Which tools are called

By default only tools that say that they only read (` + "`readOnlyHint`" + `). Of a server that is made for the
official conformance suite (it offers three or more of the tools that this calls by their names, such as
test_simple_text) those tools are called, too. Whoever names a tool below ` + "`tools.call` or `fixtures`" + ` lets
it be called; ` + "`tools.never`" + ` outweighs everything. ` + "`--call-tools`" + ` stands in place of ` + "`tools.call`" + `, and with
none no tool is called at all. The head of a run says what the file permits.

Tools of the reference server, of server-everything and of the servers for the official suite are
known by their names, so that they need no fixtures; they are called as all others are: where they do
not say that they only read, ` + "`tools.call` or `--call-tools all`" + ` lets them be called.

What other tools do is learned where nothing is known: each that may be called is called once, and how
long that takes and what the server sends meanwhile shows whether it is slow, logs, asks the client or
changes something. A fixture is surer, and what it says is judged.

## Keys
`

// Page returns the documentation page of the file.
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
	path = join(path, k.Name)
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n", path, k.About)
	lines := []string{k.takes()}
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

// takes describes the values that the key takes.
func (k *Key) takes() string {
	switch k.Kind {
	case Choice:
		return "one of " + strings.Join(k.Values, ", ")
	case Duration:
		return "a duration, as 10s"
	case Number:
		return "a number from 1 on"
	case Switch:
		return "true or false"
	case Texts:
		return "a text or a list of texts"
	case Scalars:
		return "names and their values"
	case Object:
		return "a mapping"
	case Mapping:
		if k.Name == "" { // an element, which has no heading
			return "a mapping of " + k.names()
		}
		return "a mapping"
	case Named:
		return "names, each with " + k.Of.takes()
	case Several:
		return k.Of.takes() + ", or a list of such"
	default:
		return "a text"
	}
}

// names lists the keys of a mapping.
func (k *Key) names() string {
	var out []string
	for i := range k.Keys {
		name := "`" + k.Keys[i].Name + "`"
		if !k.Keys[i].Must {
			name += " (may be left out)"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}
