package target

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Display returns the target on one line for people. It has no values of
// variables, no headers, and no argument that looks like a secret.
func (t Target) Display() string {
	switch {
	case t.Start != nil:
		return t.secrets.Arg(t.URL) + " (" + quoteAll(t.secrets.Args(t.Start.argv)) + ")"
	case t.URL != "":
		return t.secrets.Arg(t.URL)
	}
	return quoteAll(t.secrets.Args(t.Argv))
}

// Args returns the part of a command line of mcp-conform that names this
// target again. Values of variables are left out (`--env K` takes K from the
// environment), and what looks like a secret in an argument is replaced, so
// that a line with one has to be completed before it works.
func (t Target) Args() []string {
	switch {
	case t.configured:
		return slices.Clone(t.flags)
	case t.URL != "":
		return append(slices.Clone(t.flags), t.secrets.Arg(t.URL))
	}
	return slices.Concat(t.flags, []string{"--"}, t.secrets.Args(t.Argv))
}

// Secrets returns the secret values that the target was given, longest
// first, for whoever has to keep them out of a record.
func (t Target) Secrets() []string { return t.secrets.List() }

var plainArg = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./\-]+$`)

// quoteAll writes arguments as a POSIX shell would read them back, on one
// line and without control characters.
func quoteAll(args []string) string {
	parts := make([]string, len(args))
	for i, arg := range args {
		parts[i] = shellQuote(arg)
	}
	return strings.Join(parts, " ")
}

func shellQuote(arg string) string {
	switch {
	case plainArg.MatchString(arg):
		return arg
	case strings.ContainsFunc(arg, func(c rune) bool { return !strconv.IsPrint(c) }):
		// $'…' is not in every shell, and the only form that can be shown.
		return "$'" + strings.ReplaceAll(plainName(arg), "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// quote writes a name or value within a sentence.
func quote(s string) string { return strconv.Quote(s) }
