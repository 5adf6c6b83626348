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

// An Explainer is a matcher that describes what it permits and what it saw. All matchers of this
// package are Explainers. For other matchers, reports show the failure message.
type Explainer interface {
	Permitted() string
	Seen(actual any) string
}

// An Assertion judges one value from a conversation; see Expect.
type Assertion struct {
	t      *T
	c      *client.Conversation
	actual any
	at     []int
	// earlier is the field Earlier of the deviation.
	earlier string
}

// Expect begins an assertion about actual, a value from conversation c. The events in shownBy show
// the value; the offending one is the last. The events of a reply are added automatically.
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

// ShowDeclared adds the response with the server's capabilities to the evidence. Reports mark the
// capabilities.
func (a Assertion) ShowDeclared() Assertion {
	if e := a.c.Server().Event; e != nil {
		a.at, a.earlier = append([]int{e.Seq}, a.at...), "/result/capabilities"
	}
	return a
}

// About makes a deviation name the value of the client's messages that is odd, such as the param that
// provoked it. Reports mark the value. The pointer is a JSON pointer (RFC 6901).
func (a Assertion) About(pointer string) Assertion {
	a.earlier = pointer
	return a
}

// Keeps records the requirement as kept if the value matches, and a deviation otherwise. It records
// the requirement as not observed if the request got no response, which other requirements judge,
// or if the server was too busy for the request. summary is the constant title of the finding. If
// there are several weights, the one that lowers the outcome most applies. Keeps reports whether
// the value matched. It panics if the matcher does not accept values of this type, which is a
// defect of the case.
func (a Assertion) Keeps(requirement, summary string, m types.GomegaMatcher, weight ...verdict.Weight) bool {
	if r, ok := a.actual.(*client.Reply); ok && !r.Answered() {
		a.t.MarkNotObserved(requirement, "the server did not answer the request"+describeCause(r.Err))
		return false
	}
	if r, ok := a.actual.(*client.Reply); ok && r.Busy() {
		a.t.MarkNotObserved(requirement, "the server was too busy for the request")
		return false
	}
	matched, err := m.Match(a.actual)
	if err != nil {
		panic(fmt.Sprintf("case %s can't judge %s: %v", a.t.Case.ID, requirement, err))
	}
	if matched {
		a.t.MarkKept(requirement)
		return true
	}
	d := verdict.Deviation{Requirement: requirement, Summary: summary, At: a.at, Earlier: a.earlier}
	if e, ok := m.(Explainer); ok {
		d.Permitted, d.Seen = e.Permitted(), e.Seen(a.actual)
	} else {
		d.Permitted = m.FailureMessage(a.actual)
	}
	for _, w := range weight {
		d.Weight = max(d.Weight, w)
	}
	a.t.Report(a.c, d)
	return false
}

// describeCause returns a suffix for a message about a missing response: a colon and err, or "" if
// err adds nothing to the message.
func describeCause(err error) string {
	if err == nil || errors.Is(err, client.ErrUnanswered) {
		return ""
	}
	return ": " + err.Error()
}
