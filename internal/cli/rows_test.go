package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/sweep"
)

func TestRowsFitTheScreen(t *testing.T) {
	rows := []row{
		{"area.short", "MUST", "2024-11-05 2025-11-25", "A sentence that is too long for a narrow screen."},
		{"area.an-id-that-is-much-longer-than-any-other-of-them", "SHOULD", "2025-11-25", "Short."},
	}
	const long = "area.an-id-that-is-much-longer-than-any-other-of-them"
	for _, c := range []struct {
		columns int
		want    []string
	}{
		{0, []string{
			"area.short\tMUST\t2024-11-05 2025-11-25\tA sentence that is too long for a narrow screen.",
			long + "\tSHOULD\t2025-11-25\tShort.",
		}},
		{80, []string{
			"area.short" + strings.Repeat(" ", widestID-len("area.short")) + "  MUST    A sentence that is too …",
			long + "  SHOULD  Short.",
		}},
		{20, []string{"area.short         …", "area.an-id-that-is-…"}},
	} {
		var out strings.Builder
		printRows(&out, c.columns, rows)
		if diff := cmp.Diff(c.want, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", c.columns, diff)
		}
	}
}

// TestSweepTableInAFile checks that the table of a sweep is aligned in a file, too, and has each
// cell once.
func TestSweepTableInAFile(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{World: World{Out: &out}, secrets: redact.New()}
	a.printSweep(&sweep.Sweep{Servers: []*sweep.Result{
		{Name: "one", Outcome: sweep.Broken, Counts: sweep.Counts{Broken: 2}},
		{Name: "another", Outcome: sweep.Unreachable, Problem: "it exits"},
	}}, "results")
	want := "\none      broken       2 broken\nanother  unreachable  it exits\n\n2 servers: "
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}
