package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/spelling"
)

// durationError returns the error for a flag whose value is not a duration.
func durationError(bad *pflag.InvalidValueError) error {
	flag, value := "--"+bad.GetFlag().Name, bad.GetValue()
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return usagef("did you mean "+flag+" "+value+"s?", "%s is %q, which has no unit", flag, value)
	}
	return usagef("as in 500ms, 10s, 2m or 1h", "%s is %q, which is not a duration", flag, value)
}

// flagAdvice returns the advice for an invalid flag.
func flagAdvice(c *cobra.Command, err error) string {
	help := "see " + c.CommandPath() + " --help"
	if strings.Contains(c.Use, "COMMAND") {
		help += "; arguments of the server go after --"
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return help
	}
	name := unknown.GetSpecifiedName()
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := spelling.Nearest(name, names); near != "" {
		return "did you mean --" + near + "? " + help
	}
	return help
}

// misplacedFlags returns a hint about arguments after -- that have the name of a flag of the
// command, or "" if there is none. Such an argument belongs to the server, which may have the same
// flag, so the hint is only for a server that does not work.
func misplacedFlags(c *cobra.Command) string {
	fs := c.Flags()
	if fs.ArgsLenAtDash() < 0 {
		return ""
	}
	var names []string
	for _, arg := range fs.Args()[fs.ArgsLenAtDash():] {
		name, _, _ := strings.Cut(arg, "=")
		long, isLong := strings.CutPrefix(name, "--")
		isShort := len(name) == 2 && name[0] == '-' && fs.ShorthandLookup(name[1:]) != nil
		if (isShort || isLong && fs.Lookup(long) != nil) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return names[0] + " comes after --, so the server gets it; if it is meant for " + c.CommandPath() + ", put it before --"
	}
	return strings.Join(names, ", ") + " come after --, so the server gets them; put those before -- that are meant for " + c.CommandPath()
}

// noArgs returns a usage error if there are arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("see "+c.CommandPath()+" --help", "%s takes no arguments, but %q is given", c.CommandPath(), args[0])
	}
	return nil
}
