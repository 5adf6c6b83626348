package suite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEndingsString(t *testing.T) {
	for _, c := range []struct {
		set  Endings
		want string
	}{
		{Any, "a result, an error or no answer"},
		{Answer, "a result or an error"},
		{Silence, "no answer"},
		{0, ""},
	} {
		if got := c.set.String(); got != c.want {
			t.Errorf("%d is written %q, not %q", c.set, got, c.want)
		}
	}
	if Answer.Permits(Silence) || !Answer.Permits(Refusal) {
		t.Error("an answer is a result or an error, and nothing else")
	}
}

func TestOutcomes(t *testing.T) {
	want := []string{"the cancelled request: a result, an error or no answer", "every other request: a result", "anything else is only a note, because no client may do this"}
	if diff := cmp.Diff(want, Race{Name: "x", Cancelled: Any, Others: Result, ClientForbidden: true}.Outcomes()); diff != "" {
		t.Error(diff)
	}
}
