package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
