package target

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// Display returns the target on one line for people: the URL, the command, or the URL and the
// command that starts its server. It replaces what looks like a secret, and leaves out variables
// and headers.
func (t Target) Display() string {
	switch {
	case t.Start != nil:
		return t.secrets.RedactArg(t.URL) + " (" + quoteAll(t.secrets.RedactArgs(t.Start.argv)) + ")"
	case t.URL != "":
		return t.secrets.RedactArg(t.URL)
	}
	return quoteAll(t.secrets.RedactArgs(t.Argv))
}

// Args returns the arguments for mcp-conform that name this target again. It omits the values of
// variables, because --env K takes K from the environment, but keeps values with PortMark. It
// replaces likely secrets in arguments and headers, which the user has to fill in again.
func (t Target) Args() []string {
	switch {
	case t.configured:
		return slices.Clone(t.flags)
	case t.URL != "":
		return append(slices.Clone(t.flags), t.secrets.RedactArg(t.URL))
	}
	return slices.Concat(t.flags, []string{"--"}, t.secrets.RedactArgs(t.Argv))
}

var plainArg = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./\-]+$`)

// quoteAll quotes arguments for a POSIX shell, on one line and without control
// characters.
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
		// Not every shell has $'…', but no other form is printable.
		return "$'" + strings.ReplaceAll(plainName(arg), "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// quote quotes a name or value for a sentence.
func quote(s string) string { return strconv.Quote(s) }
