package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Requirements of the catalogue that are used as examples.
const (
	everywhere = "ping.responds"        // in all handshake revisions
	batches    = "base.batch-receive"   // in 2025-03-26 alone
	other      = "base.jsonrpc-version" // not listed by the case
)

func newHandle() (*T, *client.Conversation) {
	c := &Case{ID: "a.b", Title: "x", Requirements: []string{everywhere, batches}, Run: func(context.Context, *T) {}}
	return NewT(c, Env{Revision: spec.V20251125, Transport: spec.Stdio}), &client.Conversation{Record: transcript.New()}
}

// recordedReply adds a request and its response to the transcript, and returns the reply.
func recordedReply(c *client.Conversation, frame string) *client.Reply {
	c.Record.Remark("something before")
	r := &client.Reply{Sent: c.Record.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{"id":1,"method":"x"}`)})}
	r.Event = c.Record.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(frame)})
	r.Message = &r.Event.Messages()[0]
	return r
}

func reply(frame string) *client.Reply {
	return &client.Reply{Message: &wire.Parse([]byte(frame)).Messages[0]}
}

// panicsWith returns the value with which do panicked.
func panicsWith(do func()) (with any) {
	defer func() { with = recover() }()
	do()
	return nil
}

func TestKeeps(t *testing.T) {
	t.Run("a match", func(t *testing.T) {
		h, c := newHandle()
		if !h.Expect(c, recordedReply(c, `{"id":1,"result":{}}`)).Keeps(everywhere, "s", BeResult()) {
			t.Error("it does not match")
		}
		want := []Observation{{Requirement: everywhere, Outcome: verdict.Kept}}
		if diff := cmp.Diff(want, h.Observations()); diff != "" {
			t.Errorf("observations (-want +got):\n%s", diff)
		}
	})
	t.Run("a deviation", func(t *testing.T) {
		h, c := newHandle()
		r := recordedReply(c, `{"id":1,"error":{"code":-32601,"message":"no"}}`)
		shown := make([]*transcript.Event, 1, 8)
		shown[0] = c.Record.From(0)[0]
		if h.Expect(c, r, shown...).Keeps(everywhere, "it is refused", BeResult(), verdict.OnlyNote, verdict.AtMostWarning) {
			t.Error("it matches")
		}
		if extra := shown[:2][1]; extra != nil {
			t.Error("the caller's slice was written to")
		}
		o := h.Observations()
		want := verdict.Deviation{
			Requirement: everywhere, Summary: "it is refused", Permitted: "a result", Seen: `error -32601 "no"`,
			At: []int{0, 1, 2}, Weight: verdict.OnlyNote,
		}
		if len(o) != 1 || o[0].Outcome != verdict.Note || o[0].Record != c.Record {
			t.Fatalf("observations are %+v", o)
		}
		if diff := cmp.Diff(want, *o[0].Deviation); diff != "" {
			t.Errorf("deviation (-want +got):\n%s", diff)
		}
	})
	for _, x := range []struct {
		name   string
		err    error
		reason string
	}{
		{"no answer", fmt.Errorf("%w, and %w", client.ErrUnanswered, client.ErrNoFence), "the server did not answer the request"},
		{"the end", client.ErrEnded, "the server did not answer the request: the server ended the connection"},
		{"nothing sent", nil, "the server did not answer the request"},
	} {
		t.Run(x.name, func(t *testing.T) {
			h, c := newHandle()
			never := Satisfy("", func(*client.Reply) bool { t.Error("an absent answer is judged"); return true })
			if h.Expect(c, &client.Reply{Err: x.err}).Keeps(everywhere, "s", never) {
				t.Error("it matches")
			}
			want := []Observation{{Requirement: everywhere, Outcome: verdict.NotObserved, Reason: x.reason}}
			if diff := cmp.Diff(want, h.Observations()); diff != "" {
				t.Errorf("observations (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("another's matcher", func(t *testing.T) {
		h, c := newHandle()
		if h.Expect(c, 3).Keeps(everywhere, "s", gomega.Equal(4)) {
			t.Error("3 is 4")
		}
		d := h.Observations()[0].Deviation
		if !strings.Contains(d.Permitted, "to equal") || d.Seen != "" || d.At != nil || d.Weight != verdict.Full {
			t.Errorf("the deviation is %+v", d)
		}
	})
	t.Run("a matcher that does not fit", func(t *testing.T) {
		for _, m := range []types.GomegaMatcher{BeResult(), gomega.HaveLen(3)} {
			h, c := newHandle()
			p := panicsWith(func() { h.Expect(c, 3).Keeps(everywhere, "s", m) })
			if !strings.Contains(fmt.Sprint(p), "case a.b can't judge "+everywhere) || len(h.Observations()) > 0 {
				t.Errorf("panicked with %v; observed %v", p, h.Observations())
			}
		}
	})
}

func TestObservations(t *testing.T) {
	h, c := newHandle()
	if p := panicsWith(func() { h.MarkKept(other) }); fmt.Sprint(p) != "case a.b reports on "+other+", which is not in its Requirements" {
		t.Errorf("panicked with %v", p)
	}
	h.MarkKept(batches) // does not exist in this revision
	h.MarkKept(everywhere)
	h.MarkNotObserved(everywhere, "r1")
	h.MarkNotApplicable(everywhere, "r2")
	h.Report(c, verdict.Deviation{Requirement: everywhere})
	h.Report(c, verdict.Deviation{Requirement: batches})
	want := []Observation{
		{Requirement: everywhere, Outcome: verdict.Kept},
		{Requirement: everywhere, Outcome: verdict.NotObserved, Reason: "r1"},
		{Requirement: everywhere, Outcome: verdict.NotApplicable, Reason: "r2"},
		{Requirement: everywhere, Outcome: verdict.Note, Deviation: &verdict.Deviation{Requirement: everywhere}, Record: c.Record},
	}
	sameRecord := cmp.Comparer(func(a, b *transcript.Transcript) bool { return a == b })
	if diff := cmp.Diff(want, h.Observations(), sameRecord); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
	h.Observations()[0].Requirement = "altered"
	if h.Observations()[0].Requirement != everywhere {
		t.Error("the observations can be altered from outside")
	}
}

// opener is an Opener that fails, and counts calls.
type opener struct {
	err            error
	opened, shared int
	asked          client.Options
}

func (o *opener) Open(_ context.Context, asked client.Options) (*client.Conversation, error) {
	o.opened++
	o.asked = asked
	return nil, o.err
}

func (o *opener) Continue(context.Context, client.Options) *client.Conversation { return nil }

func (o *opener) LeaveForReuse(*client.Conversation) {}

func (o *opener) OpenShared(context.Context) (*client.Conversation, error) {
	o.shared++
	return nil, o.err
}

func TestCasesEndEarly(t *testing.T) {
	h, _ := newHandle()
	o := &opener{err: errors.New("no server")}
	h.Opener = o
	blocked := Stop{Outcome: verdict.Blocked, Reason: "no server"}
	for name, x := range map[string]struct {
		do   func()
		want Stop
	}{
		"skip":    {func() { h.Skip("r") }, Stop{Outcome: verdict.NotApplicable, Reason: "r"}},
		"give up": {func() { h.GiveUp("r") }, Stop{Outcome: verdict.NotObserved, Reason: "r"}},
		"open":    {func() { h.Open(t.Context(), client.Options{}) }, blocked},
		"start":   {func() { h.Start(t.Context(), client.Options{Revision: spec.V20241105}) }, blocked},
		"own":     {func() { h.Conversation(t.Context()) }, blocked},
		"shared":  {func() { h.Case.SharesConversation = true; h.Conversation(t.Context()) }, blocked},
	} {
		h.Case.SharesConversation = false
		if diff := cmp.Diff(any(x.want), panicsWith(x.do)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if o.opened != 3 || o.shared != 1 {
		t.Errorf("%d were opened, %d shared", o.opened, o.shared)
	}
	_ = panicsWith(func() { h.Open(t.Context(), client.Options{}) })
	if o.asked.Revision != spec.V20251125 {
		t.Errorf("opened in revision %q", o.asked.Revision)
	}
}

func TestCheck(t *testing.T) {
	sound := func() Case {
		return Case{ID: "a.b", Title: "x", Requirements: []string{everywhere}, Run: func(context.Context, *T) {}}
	}
	for _, c := range []struct {
		name  string
		spoil func(*Case)
		want  string
	}{
		{"sound", func(*Case) {}, ""},
		{"no id", func(c *Case) { c.ID = "" }, `case "": id, title, run, and requirements that it judges or provokes must be set`},
		{"no title", func(c *Case) { c.Title = "" }, `case "a.b": id, title`},
		{"no run", func(c *Case) { c.Run = nil }, `case "a.b": id, title`},
		{"no requirements", func(c *Case) { c.Requirements = nil }, `case "a.b": id, title`},
		{"only provokes", func(c *Case) { c.Requirements, c.Provokes = nil, []string{everywhere, "tools."} }, ""},
		{"provokes what is not there", func(c *Case) { c.Provokes = []string{"x."} }, "case a.b provokes x., which the catalogue does not have"},
		{"unknown requirement", func(c *Case) { c.Requirements = append(c.Requirements, "x.y") }, "case a.b: the catalogue has no requirement x.y"},
		{"shared and alone", func(c *Case) { c.SharesConversation, c.Exclusive = true, true }, "case a.b: a case that shares a conversation can't be exclusive"},
	} {
		x := sound()
		c.spoil(&x)
		err := x.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAppliesTo(t *testing.T) {
	applies := func(c Case) (out []spec.Revision) {
		for _, r := range spec.Revisions() {
			if c.AppliesTo(r, spec.Stdio) {
				out = append(out, r)
			}
		}
		return out
	}
	for _, x := range []struct {
		name string
		c    Case
		want []spec.Revision
	}{
		{"where the requirement exists", Case{Requirements: []string{batches}}, []spec.Revision{spec.V20250326}},
		{"where any exists", Case{Requirements: []string{batches, everywhere}}, spec.HandshakeRevisions()},
		{"narrowed", Case{Requirements: []string{everywhere}, Revisions: []spec.Revision{spec.V20241105, spec.V20260728}}, []spec.Revision{spec.V20241105}},
		{"unknown", Case{Requirements: []string{"x.y"}}, nil},
		{"where what it provokes exists", Case{Provokes: []string{batches}}, []spec.Revision{spec.V20250326}},
		{"where anything of an area exists", Case{Provokes: []string{"completion."}, Revisions: []spec.Revision{spec.V20241105}}, []spec.Revision{spec.V20241105}},
	} {
		if diff := cmp.Diff(x.want, applies(x.c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
		}
	}
	stdio := Case{Requirements: []string{"stdio.newline-delimited"}}
	if !stdio.AppliesTo(spec.V20251125, spec.Stdio) || stdio.AppliesTo(spec.V20251125, spec.StreamableHTTP) {
		t.Error("a requirement on stdio applies to another transport")
	}
}

func TestArea(t *testing.T) {
	for id, want := range map[string]string{"a.b.c": "a", "a": "a", "": "", ".b": ""} {
		if got := (&Case{ID: id}).Area(); got != want {
			t.Errorf("the area of %q is %q", id, got)
		}
	}
}

func TestMatchers(t *testing.T) {
	const (
		result   = `{"id":1,"result":{}}`
		notFound = `{"id":1,"error":{"code":-32601,"message":"m"}}`
		resource = `{"id":1,"error":{"code":-32002}}`
		invalid  = `{"id":1,"error":{"code":-32602.0}}`
		odd      = `{"id":1,"error":"x"}`
		both     = `{"id":1,"result":{},"error":null}`
	)
	for _, c := range []struct {
		name      string
		m         types.GomegaMatcher
		permitted string
		accepts   []string
	}{
		{"result", BeResult(), "a result", []string{result}},
		{"any error", BeAnyError(), "an error response", []string{notFound, resource, invalid, odd, both}},
		{"unknown method", BeErrorFor(spec.UnknownMethod, spec.V20251125), "an error with code -32601", []string{notFound}},
		{"unknown resource", BeErrorFor(spec.UnknownResource, spec.V20251125), "an error with code -32002", []string{resource}},
		{"unknown resource, stateless", BeErrorFor(spec.UnknownResource, spec.V20260728), "an error with code -32602", []string{invalid}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := c.m.(Explainer)
			if e.Permitted() != c.permitted {
				t.Errorf("permitted is %q", e.Permitted())
			}
			for _, frame := range []string{result, notFound, resource, invalid, odd, both} {
				r := reply(frame)
				got, err := c.m.Match(r)
				if want := strings.Contains(strings.Join(c.accepts, "\n"), frame); got != want || err != nil {
					t.Errorf("%s: %v, %v", frame, got, err)
				}
				if e.Seen(r) != Describe(r) || !strings.Contains(c.m.FailureMessage(r), "seen: "+Describe(r)) || !strings.HasPrefix(c.m.NegatedFailureMessage(r), "not permitted: "+c.permitted) {
					t.Errorf("%s is described as %q", frame, e.Seen(r))
				}
			}
			if got, err := c.m.Match(&client.Reply{}); got || err != nil {
				t.Errorf("no answer: %v, %v", got, err)
			}
			if _, err := c.m.Match("x"); err == nil {
				t.Error("a text is taken for a reply")
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct{ frame, want string }{
		{`{"id":1,"result":{"a":1}}`, `the result {"a":1}`},
		{`{"id":1,"error":{"code":-32601,"message":"no\u001b[2J"}}`, `error -32601 "no\x1b[2J"`},
		{`{"id":1,"error":{"code":"x","message":""}}`, `error "x" ""`},
		{`{"id":1,"error":{"message":"m"}}`, `error without a code "m"`},
		{`{"id":1,"error":{"code":1}}`, `error 1 without a message`},
		{`{"id":1,"error":{"code":1,"message":{"a":2}}}`, `error 1 with the message {"a":2}`},
		{`{"id":1,"error":7}`, `an error that is not an object: 7`},
		{`{"id":1}`, `{"id":1}`},
		{`"x"`, `"x"`},
	} {
		if got := Describe(reply(c.frame)); got != c.want {
			t.Errorf("%s is described as %s", c.frame, got)
		}
	}
	for _, frame := range []string{
		`{"id":1,"result":"` + long + `"}`, `{"id":1,"error":{"code":"` + long + `","message":"` + long + `"}}`, `{"id":1,"error":"` + long + `"}`,
		`{"id":1,"error":{"code":1,"message":["` + long + `"]}}`, `{"id":"` + long + `"}`, `{"id":1,"error":{"code":1,"message":"` + strings.Repeat(`\u0000`, 1000) + `"}}`,
	} {
		if got := Describe(reply(frame)); len(got) > 1200 || !strings.Contains(got, " bytes)") {
			t.Errorf("%.40s… is described in %d bytes: %.80s", frame, len(got), got)
		}
	}
	if got := Describe(&client.Reply{Err: client.ErrEnded}); got != "no answer: the server ended the connection" {
		t.Errorf("no answer is described as %s", got)
	}
}
