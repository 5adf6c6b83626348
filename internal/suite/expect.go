package suite

import (
	"errors"

	"github.com/onsi/gomega"
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

// Expect begins an assertion about actual, which the given events show. The
// events of a reply are added by themselves.
func (t *T) Expect(c *client.Conversation, actual any, shownBy ...*transcript.Event) Assertion {
	a := Assertion{t: t, c: c, actual: actual}
	if r, ok := actual.(*client.Reply); ok {
		shownBy = append(shownBy, r.Sent, r.Event)
	}
	for _, e := range shownBy {
		if e != nil {
			a.at = append(a.at, e.Seq)
		}
	}
	return a
}

// Keeps says of the requirement that it was kept when the value matches, and
// that the server deviates otherwise: summary is the constant sentence of the
// finding. A request without an answer says nothing here, as being answered
// is a requirement of its own. It returns whether the value matched.
func (a Assertion) Keeps(requirement, summary string, m types.GomegaMatcher, weight ...verdict.Weight) bool {
	if r, ok := a.actual.(*client.Reply); ok && !r.Answered() {
		a.t.NotObserved(requirement, "the request was not answered: "+reason(r.Err))
		return false
	}
	g := gomega.NewGomega(func(message string, _ ...int) {
		d := verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: message, At: a.at}
		if e, ok := m.(Explainer); ok {
			d.Permitted, d.Seen = e.Permitted(), e.Seen(a.actual)
		}
		for _, w := range weight {
			d.Weight = max(d.Weight, w)
		}
		a.t.Deviates(a.c, d)
	})
	if !g.Expect(a.actual).To(m) {
		return false
	}
	a.t.Kept(requirement)
	return true
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
