package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// A Draft holds what is known about a server before its first configuration file is written.
type Draft struct {
	Server    string                 // the server's name and version
	Target    []string               // the flags and arguments that name the server, as on a command line
	Revisions []string               // the revisions in which the inventories were read
	Offers    []*inventory.Inventory // one for each of Revisions
}

const (
	maxListed = 100 // entries of each list of a draft
	maxText   = 120 // bytes of a name in a draft; longer names are left out
)

// Repository is the URL of the repository, which contains the documentation.
const Repository = "https://github.com/mcp-conform/mcp-conform"

// Write returns the text of a configuration file. It quotes strings from the server where YAML
// requires quotes.
func (d *Draft) Write() string {
	w := &writer{}
	w.writeLine("# yaml-language-server: $schema=%s/raw/main/docs/%s", Repository, SchemaFile)
	w.writeLine("# Configuration of mcp-conform for this server; all keys: %s/blob/main/docs/configuration.md", Repository)
	w.writeLine("# Written by mcp-conform init from what %s offers in %s.", flowScalar(d.Server), strings.Join(d.Revisions, " and "))
	w.writeTarget(d.Target)
	w.writeLine("")
	w.writeLine("# revisions: [%s] # judge only these; by default all that the server speaks", strings.Join(d.Revisions, ", "))
	w.writeLine("# fail-on: should # warnings fail a run, too")
	w.writeTools(d.Offers)
	w.writePrompts(d.Offers)
	w.writeTemplates(d.Offers)
	w.writeFixtures(d.Offers)
	return w.b.String()
}

type writer struct{ b strings.Builder }

func (w *writer) writeLine(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

var (
	plainWord = lazyregexp.New(`^[A-Za-z_/.][A-Za-z0-9_./@+-]*$`)
	reserved  = lazyregexp.New(`(?i)^(true|false|yes|no|on|off|y|n|null|\.nan|[+-]?\.inf|[.0-9+-]*)$`)
)

// flowScalar formats a string for YAML flow style: plain if possible, else in quotes and
// as ASCII.
func flowScalar(s string) string {
	if plainWord.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	return strconv.QuoteToASCII(strings.ToValidUTF8(s, "\ufffd"))
}

func wordList(all []string) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = flowScalar(s)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// isShort reports whether a name is short enough to be listed, and not empty.
func isShort(s string) bool { return s != "" && len(s) <= maxText }

// parseTarget parses the flags and arguments that name a server. It returns either a command or a
// URL, or neither if only flags name the server.
func (d *Draft) parseTarget() (flags map[string][]string, command []string, url string) {
	flags = map[string][]string{}
	for i := 0; i < len(d.Target); i++ {
		name, isFlag := strings.CutPrefix(d.Target[i], "--")
		switch {
		case name == "" && isFlag:
			return flags, d.Target[i+1:], ""
		case !isFlag:
			return flags, nil, d.Target[i]
		case name == "clean-env" || name == "reference" || name == "insecure":
			flags[name] = append(flags[name], "true")
		case i+1 < len(d.Target):
			i++
			flags[name] = append(flags[name], d.Target[i])
		}
	}
	return flags, nil, ""
}

// writeTarget writes how to reach the server. The file can't express a server that only flags name,
// such as one from a client's configuration file: for such a server, writeTarget writes a comment.
func (w *writer) writeTarget(words []string) {
	d := &Draft{Target: words}
	flags, command, url := d.parseTarget()
	w.writeLine("")
	if command == nil && url == "" {
		w.writeLine("# The server is named on the command line: mcp-conform run %s", strings.Join(words, " "))
		w.writeLine("# target:")
		w.writeLine("#   command: [node, server.js]")
		return
	}
	w.writeLine("target:")
	if command != nil {
		w.writeLine("  command: %s", wordList(command))
	} else {
		w.writeLine("  url: %s", flowScalar(url))
	}
	for _, k := range targetKey().Keys {
		values := flags[k.Flag]
		switch {
		case k.Flag == "" || len(values) == 0:
		case k.Kind == Scalars:
			w.writeLine("  %s:", k.Name)
			for _, v := range values {
				w.writePair(k.Flag, v)
			}
		case k.Kind == Switch:
			w.writeLine("  %s: true", k.Name)
		default:
			w.writeLine("  %s: %s", k.Name, flowScalar(values[len(values)-1]))
		}
	}
}

// writePair writes a variable or a header. The argument text is the value of the flag. A variable
// without a value is inherited from the environment of mcp-conform.
func (w *writer) writePair(flag, text string) {
	separator := "="
	if flag == "header" {
		separator = ":"
	}
	name, value, ok := strings.Cut(text, separator)
	if !ok {
		w.writeLine("    %s: # passed on from our own environment", flowScalar(name))
		return
	}
	w.writeLine("    %s: %s", flowScalar(name), flowScalar(strings.TrimSpace(value)))
}

// writeTools writes, as comments next to the key tools.call, which tools are called and which are
// not.
func (w *writer) writeTools(offers []*inventory.Inventory) {
	called, not := []string{}, []string{}
	for _, v := range offers {
		for _, t := range v.Tools {
			if !isShort(t.Name) || slices.Contains(called, t.Name) || slices.Contains(not, t.Name) { // a list may contain a tool twice
				continue
			}
			if _, ok := v.Tool(t.Name); ok {
				called = append(called, t.Name)
			} else {
				not = append(not, t.Name)
			}
		}
	}
	w.writeLine("")
	w.writeLine("tools:")
	w.writeLine("  # safe: call the tools that declare readOnlyHint. To call others, too, add their names:")
	w.writeLine("  # call: [safe, NAME]. all: call every tool, for servers that can do no harm.")
	w.writeLine("  call: [safe]")
	w.writeNames("called", called)
	w.writeNames("not called", not)
	w.writeLine("  # never: [NAME]")
	for _, v := range offers {
		for _, t := range v.Callable() {
			if _, err := t.Arguments(); err != nil && isShort(t.Name) {
				w.writeLine("  # mcp-conform can't generate arguments for this one: %s.", err)
				w.writeLine("  # arguments: {%s: [{NAME: VALUE}]}", flowScalar(t.Name))
				return
			}
		}
	}
	if len(called) > 0 {
		w.writeLine("  # arguments: {%s: [{NAME: VALUE}]} # instead of generated ones", flowScalar(called[0]))
	}
}

func (w *writer) writeNames(what string, all []string) {
	more := ""
	if len(all) > maxListed {
		all, more = all[:maxListed], " and more"
	}
	if len(all) > 0 {
		w.writeLine("  # %s: %s%s", what, strings.Trim(wordList(all), "[]"), more)
	}
}

func (w *writer) writePrompts(offers []*inventory.Inventory) {
	var lines []string
	for _, p := range entriesOnce(offers, func(v *inventory.Inventory) []inventory.Prompt { return v.PromptEntries }, func(p inventory.Prompt) string { return p.Name }) {
		var values []string
		for _, name := range p.RequiredArguments() {
			if isShort(name) {
				values = append(values, flowScalar(name)+": VALUE")
			}
		}
		if isShort(p.Name) && len(values) > 0 && len(lines) < maxListed {
			lines = append(lines, "#     "+flowScalar(p.Name)+": {"+strings.Join(values, ", ")+"}")
		}
	}
	if len(lines) == 0 {
		return
	}
	w.writeLine("")
	w.writeLine("# Prompts that need arguments get the text \"text\", unless you give a better value here.")
	w.writeLine("# prompts:")
	w.writeLine("#   arguments:")
	w.writeLine("%s", strings.Join(lines, "\n"))
}

// entriesOnce returns the entries of a list in all inventories. Of entries with the same name it
// returns the first.
func entriesOnce[T any](offers []*inventory.Inventory, list func(*inventory.Inventory) []T, name func(T) string) []T {
	var out []T
	seen := map[string]bool{}
	for _, v := range offers {
		for _, entry := range list(v) {
			if !seen[name(entry)] {
				seen[name(entry)] = true
				out = append(out, entry)
			}
		}
	}
	return out
}

var variables = lazyregexp.New(`\{[+#./;?&]?([A-Za-z0-9_]+)`)

func (w *writer) writeTemplates(offers []*inventory.Inventory) {
	var lines []string
	for _, t := range entriesOnce(offers, func(v *inventory.Inventory) []string { return v.Templates }, func(t string) string { return t }) {
		var values []string
		for _, m := range variables.FindAllStringSubmatch(t, -1) {
			if value := flowScalar(m[1]) + ": VALUE"; !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		if isShort(t) && len(values) > 0 && len(lines) < maxListed {
			lines = append(lines, "#   "+flowScalar(t)+": {"+strings.Join(values, ", ")+"}")
		}
	}
	if len(lines) == 0 {
		return
	}
	w.writeLine("")
	w.writeLine("# Values with which resources of these templates can be read.")
	w.writeLine("# templates:")
	w.writeLine("%s", strings.Join(lines, "\n"))
}

// writeFixtures writes, for each role, a tool that mcp-conform knows to play it, or an example. It
// writes all lines as comments.
func (w *writer) writeFixtures(offers []*inventory.Inventory) {
	w.writeLine("")
	w.writeLine("# Tools with a known effect, so that the effect can be judged. Tools that are named here may")
	w.writeLine("# be called.")
	w.writeLine("# fixtures:")
	for _, role := range inventory.Roles() {
		at := slices.IndexFunc(offers, func(v *inventory.Inventory) bool { return len(v.KnownCalls(role)) > 0 })
		if at >= 0 {
			w.writeLine("#   # %s: known by its name: %s", role, flowScalar(offers[at].KnownCalls(role)[0].Tool))
		} else {
			w.writeLine("#   # %s", roles[role])
			w.writeLine("#   %s", inventory.FixtureLine(role))
		}
	}
}

// Quote formats a string for YAML: plain or quoted, as ASCII.
func Quote(s string) string { return flowScalar(s) }
