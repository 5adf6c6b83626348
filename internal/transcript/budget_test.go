package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func received(text string) transcript.Event {
	return transcript.Event{Kind: transcript.Received, Raw: []byte(text)}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		limits transcript.Limits
		sizes  []int
		want   []string
	}{
		{"as many as may be", transcript.Limits{Frames: 2}, []int{1, 1}, []string{"", ""}},
		{"one too many", transcript.Limits{Frames: 2}, []int{1, 1, 1}, []string{"", "", "more than 2 messages"}},
		{"one byte too many", transcript.Limits{Bytes: 10}, []int{5, 5, 1}, []string{"", "", "more than 10 bytes in all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec := transcript.NewWithin(nil, c.limits)
			var got []string
			for _, n := range c.sizes {
				got = append(got, rec.Admit(n))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("floods (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFloodsShareABudget checks that a flood in one conversation of a run lowers the
// message limit of the others.
func TestFloodsShareABudget(t *testing.T) {
	t.Parallel()
	budget := transcript.NewBudget()
	countAdmitted := func() (n int) {
		for rec := transcript.NewWithin(budget, transcript.Limits{}); rec.Admit(1) == ""; n++ {
		}
		return n
	}
	first, second := countAdmitted(), countAdmitted()
	if first < 10_000 || second > first/5 || second < 1000 {
		t.Errorf("the first conversation had %d messages, the second %d", first, second)
	}
}

// TestBudgetBoundsMemory checks that the memory of all transcripts in a run is bounded:
// frames above the budget lose their payload, and released transcripts make room for
// others.
func TestBudgetBoundsMemory(t *testing.T) {
	t.Parallel()
	budget := transcript.NewBudget()
	large := `{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`
	var all []*transcript.Transcript
	cut := 0
	for range 200 {
		rec := transcript.NewWithin(budget, transcript.Limits{})
		if rec.Add(received(large)).IsCut() {
			cut++
		}
		all = append(all, rec)
	}
	if cut == 0 || cut == len(all) || budget.HeldBytes() > 128<<20 || !budget.IsHalfUsed() {
		t.Errorf("%d of %d frames were cut, %d bytes are held", cut, len(all), budget.HeldBytes())
	}
	for _, rec := range all {
		rec.Release()
	}
	if n := budget.HeldBytes(); n != 0 {
		t.Errorf("%d bytes are still counted, and no record holds them", n)
	}
	if transcript.NewWithin(budget, transcript.Limits{}).Add(received(large)).IsCut() {
		t.Error("a frame was cut though there is room")
	}
}

func TestThin(t *testing.T) {
	t.Parallel()
	budget := transcript.NewBudget()
	rec := transcript.NewWithin(budget, transcript.Limits{})
	for i := range 1000 {
		rec.Add(received(fmt.Sprintf(`{"jsonrpc":"2.0","method":"m%d"}`, i)))
	}
	rec.Add(transcript.Event{Kind: transcript.Exited})
	before, old := budget.HeldBytes(), rec.From(0)
	rec.Thin(500)
	rec.Thin(500) // counts nothing twice
	events := rec.From(0)
	if len(events) != len(old) {
		t.Fatalf("%d events of %d are left", len(events), len(old))
	}
	for at, kept := range map[int]bool{0: true, 200: false, 499: true, 500: true, 700: false, 999: true, 1000: true} {
		if same := events[at] == old[at]; same != kept {
			t.Errorf("event %d is kept: %t, want %t", at, same, kept)
		}
	}
	if budget.HeldBytes() > before/4 {
		t.Errorf("%d of %d bytes are still held", budget.HeldBytes(), before)
	}
	rec.Release()
	if n := budget.HeldBytes(); n != 0 {
		t.Errorf("%d bytes are still counted, and no record holds them", n)
	}
}
