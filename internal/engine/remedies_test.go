package engine

import (
	"testing"
	"time"
)

// TestSlowRunHasReason checks that a slow run has no notice if nothing is known of its time.
func TestSlowRunHasReason(t *testing.T) {
	for _, c := range []struct {
		waited, faster []string
		want           string
	}{
		{nil, nil, ""},
		{[]string{"9 s for servers to exit", "8 s for responses"}, nil, "25 s, of which the run waited 9 s for servers to exit, 8 s for responses"},
		{nil, []string{"--jobs 4"}, "25 s; faster: --jobs 4"},
	} {
		if got := slowText(25*time.Second, c.waited, c.faster); got != c.want {
			t.Errorf("the notice is %q, not %q", got, c.want)
		}
	}
}
