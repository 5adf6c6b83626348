package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/officialsuite"
)

// readChecks returns the checks that judged the server.
func readChecks(results string) ([]judgement, error) {
	checks, err := officialsuite.Checks(results)
	if err != nil {
		return nil, err
	}
	var out []judgement
	for _, c := range checks {
		if c.HasVerdict() {
			out = append(out, judgement{c.Scenario + " " + c.ID, strings.ToLower(c.Status)})
		}
	}
	return out, nil
}

// readReport returns the requirements that were judged in any revision, with
// their most severe outcome.
func readReport(results string) ([]judgement, error) {
	raw, err := os.ReadFile(filepath.Join(results, "report.json"))
	if err != nil {
		return nil, err
	}
	var report struct {
		Verdicts []struct{ Requirement, Verdict string }
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, err
	}
	weights := []string{"kept", "note", "warning", "flaky", "unconfirmed", "broken"}
	heaviest := map[string]int{}
	for _, v := range report.Verdicts {
		if w := slices.Index(weights, v.Verdict); w >= 0 {
			heaviest[v.Requirement] = max(heaviest[v.Requirement], w)
		}
	}
	var out []judgement
	for id, w := range heaviest {
		out = append(out, judgement{id, weights[w]})
	}
	slices.SortFunc(out, func(a, b judgement) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

func printTable(w io.Writer, contestants []*contestant, runs int) {
	fmt.Fprintf(w, "%s, %d cores (%s)%s; medians of %d runs each, taken in turn, the range in brackets.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOARCH, describeLoad(), runs)
	fmt.Fprintln(w, "| | wall time | CPU time | CPU time of the server | HTTP requests | judged | of these |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- |")
	for _, c := range contestants {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d | %d | %s |\n",
			c.name, describeTimes(c.wall), describeTimes(c.cpu), describeTimes(c.served), c.requests, len(c.found), countOutcomes(c.found))
	}
}

// describeLoad returns a phrase with the load average of the machine, or "" if the system does not
// report it.
func describeLoad() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	average, _, _ := strings.Cut(string(raw), " ")
	return ", load average " + average
}

// describeTimes returns a phrase with the median, the minimum and the maximum of the times.
func describeTimes(times []time.Duration) string {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.2f s (%.2f–%.2f)", sorted[len(sorted)/2].Seconds(), sorted[0].Seconds(), sorted[len(sorted)-1].Seconds())
}

func countOutcomes(found []judgement) string {
	count := map[string]int{}
	var order []string
	for _, j := range found {
		if count[j.outcome]++; count[j.outcome] == 1 {
			order = append(order, j.outcome)
		}
	}
	slices.SortFunc(order, func(a, b string) int { return count[b] - count[a] })
	var parts []string
	for _, outcome := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[outcome], outcome))
	}
	return strings.Join(parts, ", ")
}

func printIDs(w io.Writer, contestants []*contestant) {
	for _, c := range contestants {
		fmt.Fprintf(w, "\n%s:\n\n", c.name)
		for _, j := range c.found {
			fmt.Fprintf(w, "    %-8s %s\n", j.outcome, j.id)
		}
	}
}
