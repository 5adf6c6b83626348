package suite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Explainer is a matcher that can say what it permits and what it saw; all
// matchers of this package are. Of others, the failure message is shown.
type Explainer interface {
	Permitted() string
	Seen(actual any) string
}

// Assertion is about one value that came up in a conversation.
type Assertion struct {
	t      *T
	c      *client.Conversation
	actual any
	at     []int
}

// Expect begins an assertion about actual, which the given events of
// conversation c show, the offending one last. The events of a reply are added
// by themselves.
func (t *T) Expect(c *client.Conversation, actual any, shownBy ...*transcript.Event) Assertion {
	a := Assertion{t: t, c: c, actual: actual}
	if r, ok := actual.(*client.Reply); ok {
		shownBy = append(slices.Clone(shownBy), r.Sent, r.Event)
	}
	for _, e := range shownBy {
		if e != nil {
			a.at = append(a.at, e.Seq)
		}
	}
	return a
}

// Keeps records the requirement as kept when the value matches, and
// that the server deviates otherwise: summary is the constant sentence of the
// finding, and of several weights the one that softens most stands. A request
// without an answer says nothing here, as being answered is a requirement of
// its own; nor does one that the server had no time for. It returns whether the
// value matched. A matcher that does not take the value is a defect of the case,
// so it panics.
func (a Assertion) Keeps(requirement, summary string, m types.GomegaMatcher, weight ...verdict.Weight) bool {
	if r, ok := a.actual.(*client.Reply); ok && !r.Answered() {
		a.t.NotObserved(requirement, "the request was not answered: "+reason(r.Err))
		return false
	}
	if r, ok := a.actual.(*client.Reply); ok && r.Busy() {
		a.t.NotObserved(requirement, "the server said that it had no time for the request")
		return false
	}
	matched, err := m.Match(a.actual)
	if err != nil {
		panic(fmt.Sprintf("case %s can't judge %s: %v", a.t.Case.ID, requirement, err))
	}
	if matched {
		a.t.Kept(requirement)
		return true
	}
	d := verdict.Deviation{Requirement: requirement, Summary: summary, At: a.at}
	if e, ok := m.(Explainer); ok {
		d.Permitted, d.Seen = e.Permitted(), e.Seen(a.actual)
	} else {
		d.Permitted = m.FailureMessage(a.actual)
	}
	for _, w := range weight {
		d.Weight = max(d.Weight, w)
	}
	a.t.Deviates(a.c, d)
	return false
}

func reason(err error) string {
	if errors.Is(err, client.ErrUnanswered) {
		return client.ErrUnanswered.Error()
	}
	if err == nil {
		return "no answer"
	}
	return err.Error()
}
