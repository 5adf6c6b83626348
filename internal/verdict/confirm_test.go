package verdict_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestConfirmed(t *testing.T) {
	for _, c := range []struct {
		tries, again, needed int
		want                 verdict.Outcome
	}{
		{1, 1, 1, verdict.Broken},
		{3, 1, 1, verdict.Broken},
		{3, 3, 3, verdict.Broken},
		{3, 0, 1, verdict.Flaky},
		{3, 2, 3, verdict.Flaky},
		{0, 0, 1, verdict.Unconfirmed},
		{2, 2, 3, verdict.Unconfirmed},
	} {
		if got := verdict.Broken.Confirmed(c.tries, c.again, c.needed); got != c.want {
			t.Errorf("%d of %d tries, %d needed: got %s, want %s", c.again, c.tries, c.needed, got, c.want)
		}
	}
}
