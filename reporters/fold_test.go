package reporters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		name, line string
		columns    int
		want       []string
	}{
		{"no screen", "NEW  some.requirement  broken", 0, []string{"NEW  some.requirement  broken"}},
		{"it fits", "one two  three", 14, []string{"one two  three"}},
		{"between words", "one two three four", 13, []string{"one two three", "  four"}},
		{"a dot stays where it was", "one · two · three", 11, []string{"one · two ·", "  three"}},
		{"a wide word stays whole", "a https://example.com/much/too/long b", 12, []string{"a", "  https://example.com/much/too/long", "  b"}},
		{"wide characters", "漢字 漢字 漢字", 9, []string{"漢字 漢字", "  漢字"}},
		{"the columns stay", "NEW        some.id  broken, was kept", 20, []string{"NEW        some.id", "  broken, was kept"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, WrapLine(c.line, c.columns, 2)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLinesFitTheScreen checks that only text that users copy
// may exceed the width.
func TestLinesFitTheScreen(t *testing.T) {
	for _, columns := range []int{50, 60, 80} {
		for line := range strings.SplitSeq(play(reportWithEachOutcome(), ConsoleOptions{Width: columns, Verbose: true}), "\n") {
			text := strings.TrimSpace(line)
			copied := strings.HasPrefix(text, "again: ") || strings.HasPrefix(text, "fixed? ") || strings.HasPrefix(text, "https://") ||
				strings.Contains(text, "  # ") // a line for mcp-conform.yaml
			if width(line) > columns && !copied {
				t.Errorf("at %d columns, a line takes %d: %s", columns, width(line), line)
			}
		}
	}
	whole := play(reportWithEachOutcome(), ConsoleOptions{})
	for _, line := range strings.Split(whole, "\n") {
		if strings.HasPrefix(line, "odd-server 1.2.3: 1 requirement broken") && strings.HasSuffix(line, " messages") {
			return
		}
	}
	t.Errorf("where no width is known, the last line is broken:\n%s", whole)
}
