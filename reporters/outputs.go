package reporters

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Outputs writes the result of a run as lines of the form KEY=VALUE, which shells and CI systems
// read as variables: the overall verdict, the number of requirements with each outcome in any
// revision, and the results of the profiles that the run was limited to. No value has a space or
// comes from the server.
func Outputs(w io.Writer, r *verdict.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict=%s\n", verdictWord(r))
	for _, of := range []struct {
		key     string
		outcome verdict.Outcome
	}{{"broken", verdict.Broken}, {"warnings", verdict.Warning}, {"flaky", verdict.Flaky}, {"unconfirmed", verdict.Unconfirmed}, {"kept", verdict.Kept}} {
		fmt.Fprintf(&b, "%s=%d\n", of.key, countRequirements(r, of.outcome))
	}
	fmt.Fprintf(&b, "known=%d\nstale=%d\nsecurity=%d\n", len(knownDeviations(r)), len(r.Stale), verdict.SecurityOf(r).WithFindings)
	if text := profileOutput(r); text != "" {
		fmt.Fprintf(&b, "profiles=%s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdictWord returns the result of the whole run as one word. It is the most severe result in the
// run.
func verdictWord(r *verdict.Report) string {
	switch _, any := r.Worst(); {
	case countRequirements(r, verdict.Broken) > 0:
		return "broken"
	case len(r.Stale) > 0:
		return "stale"
	case !any, r.Incomplete != "", countRequirements(r, verdict.HarnessError, verdict.Unconfirmed) > 0:
		return "not-judged"
	case countRequirements(r, verdict.Warning) > 0:
		return "warnings"
	default:
		return "kept"
	}
}
