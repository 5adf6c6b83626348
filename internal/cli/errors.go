package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

// harnessError is a failure caused by neither the user nor the server.
type harnessError struct{ error }

func (e harnessError) Unwrap() error { return e.error }

// printFailures prints harness failures, one per line, and returns the exit code: ExitBroken if the
// run has found a broken requirement, because a failure to write a file does not make the server
// conform, and ExitNotJudged otherwise.
func (a *app) printFailures(err error) int {
	for _, one := range errorsOf(err) {
		fmt.Fprintf(a.Err, "mcp-conform: %s\n", a.redactAndEscape(one.Error()))
	}
	if a.code == ExitBroken {
		return ExitBroken
	}
	return ExitNotJudged
}

// errorsOf returns the errors that are joined in err, or only err if it joins none.
func errorsOf(err error) []error {
	if harness, ok := err.(harnessError); ok { //nolint:errorlint // a harnessError deeper in the chain is part of the message
		err = harness.error
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, one := range joined.Unwrap() {
		out = append(out, errorsOf(one)...)
	}
	return out
}

// exitCodeOfError returns the exit code for an error. An error of an unknown type counts as a usage
// error, because it is most likely from cobra, which rejects a wrong command line.
func (a *app) exitCodeOfError(err error) int {
	switch {
	case errors.As(err, new(*target.UsageError)), errors.As(err, new(*engine.SelectionError)):
		return ExitUsage
	case errors.As(err, new(*engine.UnreachableError)):
		return ExitUnreachable
	case errors.As(err, new(*engine.NothingJudgedError)), errors.As(err, new(harnessError)):
		return ExitNotJudged
	default:
		return ExitUsage
	}
}

// errorParts returns the text of an error, advice for the user, and the end of the server's stderr.
// Advice and stderr may be empty. Of joined errors, it returns the texts on one line, and all advice.
func errorParts(err error) (text, advice, stderr string) {
	if all := errorsOf(err); len(all) > 1 {
		var texts, hints []string
		for _, one := range all {
			oneText, hint, output := errorParts(one)
			texts, stderr = append(texts, oneText), cmp.Or(stderr, output)
			if hint != "" && !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
		return strings.Join(texts, "; "), strings.Join(hints, "\n"), stderr
	}
	text = err.Error()
	var usage *target.UsageError
	var unreachable *engine.UnreachableError
	switch {
	case errors.As(err, &usage):
		advice = usage.Advice
		text = strings.TrimSuffix(text, "\n"+advice) // err may wrap the usage error and add where it occurred
	case errors.As(err, &unreachable):
		advice, stderr = unreachable.Advice, unreachable.Stderr
	}
	return text, advice, stderr
}

// fail prints an error for the user, or each of several that are joined, with its advice and the
// server's stderr, and returns the exit code.
func (a *app) fail(err error) int {
	code := a.exitCodeOfError(err)
	if code == ExitNotJudged && !errors.As(err, new(*engine.NothingJudgedError)) {
		return a.printFailures(err)
	}
	for _, one := range errorsOf(err) {
		a.printError(one)
	}
	return code
}

// printError prints one error, its advice and the server's stderr.
func (a *app) printError(err error) {
	text, advice, stderr := errorParts(err)
	if stderr != "" {
		defer func() { a.quoteStderr(stderr) }()
	}
	fmt.Fprintf(a.Err, "mcp-conform: %s\n", a.redactAndEscape(text))
	if advice != "" {
		for line := range strings.SplitSeq(advice, "\n") {
			fmt.Fprintf(a.Err, "  %s\n", a.redactAndEscape(line))
		}
	}
}
