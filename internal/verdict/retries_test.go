package verdict_test

import (
	"fmt"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestRetries checks how often a deviation is retried, and what its outcome then is.
func TestRetries(t *testing.T) {
	// The first case in which it is retried did not reproduce it.
	missed := verdict.Retries{}
	for !missed.Done() {
		missed.Record(false)
	}
	each := missed.InOtherCase()
	each.EachTime = true
	void := verdict.Retries{EachTime: true, Attempts: 1, Void: 3}
	extended := missed
	extended.Extend()
	void.Extend()
	for _, c := range []struct {
		name  string
		given verdict.Retries
		shows string // what each attempt shows, if it is made: + the deviation, - nothing, o no server
		want  string // reproduced, attempts, outcome
	}{
		{"it recurs", verdict.Retries{}, "+---", "1/1 broken"},
		{"it recurs late", verdict.Retries{}, "--+-", "1/3 broken"},
		{"it does not recur", verdict.Retries{}, "---+", "0/3 flaky"},
		{"it is not retried", verdict.Retries{}, "", "0/0 unconfirmed"},
		{"it must recur each time", verdict.Retries{EachTime: true}, "+++-", "3/3 broken"},
		{"it must recur each time, and does not", verdict.Retries{EachTime: true}, "+-++", "1/2 flaky"},
		{"it must recur each time, and the time is over", verdict.Retries{EachTime: true}, "++", "2/2 unconfirmed"},
		{"no server starts", verdict.Retries{}, "ooo+", "0/0 unconfirmed"},
		{"a server starts at last", verdict.Retries{}, "oo+", "1/1 broken"},
		{"all attempts are made", verdict.Retries{CountAll: true}, "+-++", "2/3 broken"},
		{"all attempts are made, and none shows it", verdict.Retries{CountAll: true}, "---+", "0/3 flaky"},
		{"all attempts are made, and each must show it", verdict.Retries{CountAll: true, EachTime: true}, "+-++", "2/3 flaky"},
		{"there is time for one attempt", verdict.Retries{Limit: 1, CountAll: true}, "++", "1/1 broken"},
		{"there is time for one that must show it", verdict.Retries{Limit: 1, CountAll: true, EachTime: true}, "++", "1/1 broken"},
		{"more attempts than usual", verdict.Retries{Limit: 5}, "----+", "1/5 broken"},
		{"it recurs in another case", missed.InOtherCase(), "+-", "1/4 broken"},
		{"it does not recur in another case", missed.InOtherCase(), "-+", "0/4 flaky"},
		{"it recurs in other circumstances", extended, "--+-", "1/6 broken"},
		{"it does not recur in other circumstances", extended, "---+", "0/6 flaky"},
		{"no server starts in other circumstances", extended, "ooo+", "0/3 flaky"},
		{"servers start again in other circumstances", void, "+-", "1/2 broken"},
		{"it must recur each time in another case", each, "+++-", "3/6 broken"},
	} {
		r := c.given
		for _, attempt := range c.shows {
			if r.Done() {
				break
			}
			if attempt == 'o' {
				r.Void++
			} else {
				r.Record(attempt == '+')
			}
		}
		if got := fmt.Sprintf("%d/%d %s", r.Reproduced, r.Attempts, r.Conclude(verdict.Broken)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRetriesInAnotherCaseAreAdded(t *testing.T) {
	r := verdict.Retries{Attempts: 2, Reproduced: 1, Void: 1, EachTime: true}
	other := r.InOtherCase()
	other.Record(false)
	other.Void++
	r.AddOtherCase(other)
	if r.Attempts != 3 || r.Reproduced != 1 || r.Void != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestFixedAfter(t *testing.T) {
	for _, c := range []struct{ reproduced, attempts, want int }{{3, 3, 3}, {1, 3, 10}, {0, 3, 20}, {0, 0, 20}} {
		r := verdict.Retries{Attempts: c.attempts, Reproduced: c.reproduced}
		if got := r.AttemptsUntilFixed(); got != c.want {
			t.Errorf("%d of %d: %d attempts, want %d", c.reproduced, c.attempts, got, c.want)
		}
	}
}
