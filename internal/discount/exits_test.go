package discount

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestExits checks that an exit is explained if any of the cases that it interrupted also makes
// its own process exit, however often, and which exits the notice counts.
func TestExits(t *testing.T) {
	guilty, other, running := &transcript.Transcript{}, &transcript.Transcript{}, &transcript.Transcript{}
	r := NewRun()
	for _, record := range []*transcript.Transcript{guilty, other, running} {
		r.BeginShared(record, func() []*transcript.Transcript { return []*transcript.Transcript{record} })
	}
	r.SettleShared(guilty, true)
	r.SettleShared(other, false)

	all := []Exit{
		{Detail: "alone", Records: []*transcript.Transcript{guilty}},
		{Detail: "beside others", Records: []*transcript.Transcript{other, guilty}},
		{Detail: "of a case that still runs", Records: []*transcript.Transcript{running}},
		{Detail: "while nothing was open"},
		{Detail: "of an innocent case", Records: []*transcript.Transcript{other}, Output: "one\ntwo\nthe secret\nbye\n"},
	}
	var got []string
	for _, e := range all {
		if !r.Voids(&Claim{Exit: true, Records: e.Records}) {
			got = append(got, e.Detail)
		}
	}
	if diff := cmp.Diff([]string{"while nothing was open", "of an innocent case"}, got); diff != "" {
		t.Error(diff)
	}
	if effect, _ := r.Discount(&Claim{Records: all[0].Records}); effect != Counts {
		t.Error("an observation of a case that causes exits does not count")
	}

	redact := func(text string) string { return strings.ReplaceAll(text, "secret", "hidden") }
	for _, c := range []struct {
		name      string
		exits     []Exit
		isFinding bool
		want      []string
	}{
		{"none", nil, true, nil},
		{"explained by a finding", all[:3], true, nil},
		{"explained by nothing that is reported", all[:1], false, []string{"the server's process exited by itself once, and no case causes that alone: alone"}},
		{"some are explained", all, true, []string{"the server's process exited by itself 2 times, and no case causes that alone: of an innocent case; its last output: two | the hidden | bye"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, r.ExitNotices(c.exits, c.isFinding, redact)); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutage checks which observations do not count because the server was gone.
func TestOutage(t *testing.T) {
	unanswered, served := &transcript.Transcript{}, &transcript.Transcript{}
	for _, c := range []struct {
		name   string
		isGone bool
		claim  Claim
		want   Effect
	}{
		{"after the last response", true, Claim{Records: []*transcript.Transcript{unanswered}, At: []int{2, 7}}, Void},
		{"where the responses are missing", true, Claim{Records: []*transcript.Transcript{unanswered}, At: []int{5}}, Void},
		{"before the last response", true, Claim{Records: []*transcript.Transcript{unanswered}, At: []int{2, 4}}, Counts},
		{"somewhere", true, Claim{Records: []*transcript.Transcript{unanswered}}, Void},
		{"in one of several conversations", true, Claim{Records: []*transcript.Transcript{served, unanswered}, At: []int{7}}, Void},
		{"in a conversation that was served", true, Claim{Records: []*transcript.Transcript{served}, At: []int{7}}, Counts},
		{"the server serves again", false, Claim{Records: []*transcript.Transcript{unanswered}, At: []int{7}}, Counts},
		{"an unknown conversation", true, Claim{At: []int{7}}, Counts},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewRun()
			r.NoteUnanswered(unanswered, 5)
			if c.isGone {
				r.NoteOutage()
			}
			if got, _ := r.Discount(&c.claim); got != c.want {
				t.Errorf("the effect is %d, want %d", got, c.want)
			}
		})
	}
}

// TestDisturbedCases checks that observations of a case that another may have disturbed do not count.
func TestDisturbedCases(t *testing.T) {
	for isDisturbed, want := range map[bool]Effect{true: Void, false: Counts} {
		if got, _ := NewRun().Discount(&Claim{Disturbed: isDisturbed}); got != want {
			t.Errorf("disturbed: %v, the effect is %d, want %d", isDisturbed, got, want)
		}
	}
}
