package fuzz_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

var (
	measured  = flag.Int("buried.seeds", 0, "search for every buried fault with this many seeds, from 1 on, and print the table of docs/evidence.md")
	firstSeed = flag.Uint64("buried.first", 1, "the first of the seeds")
	written   = flag.Bool("buried.write", false, "put what was measured into docs/evidence.md; rows of other faults stay")
)

// The table of docs/evidence.md is between these lines.
const (
	tableFile  = "../../docs/evidence.md"
	tableBegin = "<!-- measured: go test ./suites/fuzz -run BuriedTable -buried.seeds 10 -buried.write -timeout 12h -->"
	tableEnd   = "<!-- end -->"
)

// row has the measurements for one fault.
type row struct {
	id    string
	seeds int
	limit time.Duration
	times []time.Duration
	// cases, requests, operations and sizes are those of the searches that found the fault: the
	// first two until it was found, the others after shrinking.
	cases, requests, operations, sizes []int
}

// String returns the row in the format of the table.
func (r *row) String() string {
	text := fmt.Sprintf("| `%s` | %d of %d | %v |", r.id, len(r.times), r.seeds, r.limit)
	if len(r.times) == 0 {
		return text + " | | | | |"
	}
	return text + fmt.Sprintf(" %.1f s | %d | %d | %d | %d |", median(r.times).Seconds(), median(r.cases), median(r.requests), median(r.operations), median(r.sizes))
}

// TestBuriedTable measures how soon each buried fault is found, and how far the script that shows
// it shrinks. Seeds start at 1, so that a search begins with the same scripts each time; later
// variations depend on the order of responses.
func TestBuriedTable(t *testing.T) {
	if *measured == 0 {
		t.Skip("it takes hours; -buried.seeds asks for it")
	}
	tried, good := 0, 0
	for _, f := range faults.Buried() {
		if !isChosen(f.ID) {
			continue
		}
		tried++
		one := row{id: f.ID, seeds: *measured, limit: *limit}
		for seed := range uint64(*measured) { //nolint:gosec // positive
			found, report := search(t.Context(), t, f, *firstSeed+seed, *limit, fuzz.Budget{Time: 10 * time.Second, Attempts: 300})
			if found == nil || found.After > *limit {
				t.Logf("%s: not with seed %d, in %d cases and %d requests; instead %v", f.ID, *firstSeed+seed, report.Cases, report.Requests, describeFindings(report))
				continue
			}
			one.times = append(one.times, found.After)
			one.cases = append(one.cases, int(found.Cases))
			one.requests = append(one.requests, int(found.Requests))
			one.operations = append(one.operations, len(found.Script.Operations))
			one.sizes = append(one.sizes, found.Script.Size())
		}
		if 10*len(one.times) >= 9*one.seeds {
			good++
		}
		fmt.Fprintln(os.Stdout, one.String())
		if *written { // after each fault, so that an abort loses no measurements
			if err := writeTable(&one); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of %d are found with nine seeds of ten", good, tried)
	if tried == len(faults.Buried()) && good < minFound {
		t.Errorf("%d were promised", minFound)
	}
}

// minFound is the minimum number of buried faults that nine of ten seeds find.
const minFound = 25

// writeTable writes a row into the page, in place of the old one of the same fault.
func writeTable(r *row) error {
	page, err := os.ReadFile(tableFile)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return fmt.Errorf("%s lacks %q or %q", tableFile, tableBegin, tableEnd)
	}
	lines := map[string]string{}
	for line := range strings.Lines(old) {
		if id, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && strings.HasPrefix(line, "| `") {
			lines[id] = strings.TrimSpace(line)
		}
	}
	lines[r.id] = r.String()
	out := []string{
		tableBegin, fmt.Sprintf("Measured last on %d cores of %s/%s:", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH), "",
		"| fault | found | within | after | cases | requests | operations | bytes |", "|---|--:|--:|--:|--:|--:|--:|--:|",
	}
	for _, f := range faults.Buried() {
		line := lines[f.ID]
		if line == "" {
			line = "| `" + f.ID + "` | | | | | | | |"
		}
		out = append(out, line)
	}
	text := before + strings.Join(out, "\n") + "\n\n" + tableEnd + after
	return os.WriteFile(tableFile, []byte(text), 0o644) //nolint:gosec // the page is public
}

// TestBuriedTableIsWhole checks that the page has a row for each buried fault, and no others.
func TestBuriedTableIsWhole(t *testing.T) {
	page, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, f := range faults.Buried() {
		want = append(want, f.ID)
	}
	_, rest, _ := strings.Cut(string(page), tableBegin)
	table, _, _ := strings.Cut(rest, tableEnd)
	for line := range strings.Lines(table) {
		if id, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && strings.HasPrefix(line, "| `") {
			got = append(got, id)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page does not have what is buried (-buried +page):\n%s", diff)
	}
}

func median[T int | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}
