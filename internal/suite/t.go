package suite

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/upstream"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// An Opener opens conversations for a case; the engine provides it.
type Opener interface {
	// Open starts a fresh server, and returns a conversation in which nothing
	// was sent yet.
	Open(ctx context.Context, o client.Options) (*client.Conversation, error)
	// Continue returns a conversation with a server that earlier cases have used, or nil if no such
	// server is suitable. In the stateless era a request does not depend on earlier ones, so such a
	// server is equivalent to a fresh one. In the handshake era the session continues.
	Continue(ctx context.Context, o client.Options) *client.Conversation
	// LeaveForReuse makes the conversation available to later cases. It must be called after an
	// ordinary handshake.
	LeaveForReuse(c *client.Conversation)
	// OpenShared returns the conversation that cases share.
	OpenShared(ctx context.Context) (*client.Conversation, error)
}

// Env is the environment of a case.
type Env struct {
	Revision  spec.Revision
	Transport spec.Transport
	// KnownRevisions are the handshake revisions that the run judges and that the server was seen
	// to speak. The server may speak others.
	KnownRevisions []spec.Revision
	Inventory      *inventory.Inventory
	Opener         Opener
	// Issuer issues tokens that the server under test trusts; it is nil if there is none.
	Issuer Issuer
	// Upstream is a double of a service that the server calls; nil if there is none.
	Upstream *upstream.Double
	// OtherToken is documented in engine.Options.
	OtherToken func(u *url.URL) string
	// Idle is closed when only cases that wait are still running, see
	// Case.Waits. It is nil if the engine does not track this.
	Idle <-chan struct{}
}

// An Issuer issues valid and invalid tokens of an authorization server that the server under test
// trusts.
type Issuer interface {
	// Token returns a token for a resource, with scopes separated by spaces; "" if it issues none
	// of this kind.
	Token(kind issuer.Kind, resource, scope string) string
	// ForOtherUser returns the token of another user for the same resource and with the same scopes
	// as a token of the first user; "" if it knows only one user.
	ForOtherUser(token string) string
}

// An Observation is what a case reports about one requirement.
type Observation struct {
	Requirement string
	Outcome     verdict.Outcome // Kept, NotObserved, NotApplicable or Blocked; Note if Deviation is set
	Reason      string
	Gap         verdict.Gap // classifies Reason
	Deviation   *verdict.Deviation
	Record      *transcript.Transcript // the transcript that the deviation's positions refer to; nil without a deviation
	// SessionEnded reports whether the server had ended the session when the deviation was
	// reported.
	SessionEnded bool
	// StartUnclear reports whether the server may still have been starting when the deviation was
	// reported.
	StartUnclear bool
}

// A T is a case's handle on the server. Its methods may be called from any goroutine, except those
// that open conversations or end the case, which only the goroutine of the case may call.
type T struct {
	Env
	Case *Case

	mu    sync.Mutex
	seen  []Observation
	wants []MissingSetting
}

// NewT returns the handle for one run of case c.
func NewT(c *Case, env Env) *T { return &T{Env: env, Case: c} }

// A Stop is the value with which a case panics to end early.
type Stop struct {
	Outcome verdict.Outcome
	Reason  string
	Gap     verdict.Gap // classifies Reason
}

// Observations returns the observations of the case, in order.
func (t *T) Observations() []Observation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.seen)
}

// add keeps an observation, unless its requirement does not exist in this revision or over this
// transport. It panics if the case does not list the requirement, because the engine would not know
// of it.
func (t *T) add(o Observation) {
	if !slices.Contains(t.Case.Requirements, o.Requirement) {
		panic(fmt.Sprintf("case %s reports on %s, which is not in its Requirements", t.Case.ID, o.Requirement))
	}
	if !spec.Requirements().Lookup(o.Requirement).AppliesTo(t.Revision, t.Transport) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, o)
}

// MarkKept reports that the requirement was observed and kept.
func (t *T) MarkKept(requirement string) {
	t.add(Observation{Requirement: requirement, Outcome: verdict.Kept})
}

// MarkNotObserved reports that the requirement could not be judged.
func (t *T) MarkNotObserved(requirement, reason string) {
	t.add(Observation{Requirement: requirement, Outcome: verdict.NotObserved, Reason: reason})
}

// MarkNotApplicable reports that the server does not offer what the requirement is
// about.
func (t *T) MarkNotApplicable(requirement, reason string) {
	t.add(Observation{Requirement: requirement, Outcome: verdict.NotApplicable, Reason: reason})
}

// Report reports that the server deviates, as seen in conversation c. The discounts of the run
// decide whether that counts.
func (t *T) Report(c *client.Conversation, d verdict.Deviation) {
	t.add(Observation{
		Requirement: d.Requirement, Outcome: verdict.Note, Deviation: &d, Record: c.Record,
		SessionEnded: c.HasExpired(), StartUnclear: c.IsStartUnclear(),
	})
}

// Skip ends the case as not applicable to this server.
func (t *T) Skip(reason string) { panic(Stop{Outcome: verdict.NotApplicable, Reason: reason}) }

// GiveUp ends the case. What it has not judged yet is not observed.
func (t *T) GiveUp(reason string) { panic(Stop{Outcome: verdict.NotObserved, Reason: reason}) }

// Conversation returns a conversation after its handshake: the shared one if the case shares it,
// otherwise one from Start. It ends the case as blocked if there is no conversation. Unless
// Case.Unchecked is set, it ends the case as not observed if the server no longer answers in the
// shared conversation.
func (t *T) Conversation(ctx context.Context) *client.Conversation {
	if !t.Case.SharesConversation {
		return t.Start(ctx, client.Options{})
	}
	c, err := t.Opener.OpenShared(ctx)
	if err != nil {
		panic(Stop{Outcome: verdict.Blocked, Reason: err.Error()})
	}
	// What an earlier case did to the server is not a finding of this case.
	if !t.Case.Unchecked {
		if r := c.Do(ctx, c.HarmlessMethod(), nil); r.Err != nil {
			t.GiveUp("the server no longer answers, after earlier cases used it: " + r.Err.Error())
		}
	}
	return c
}

// WalkUnlessNotified walks a list again, up to the given number of pages, if the server did not
// declare listChanged. Such a server may change the list without a notification, so an entry is
// known to be missing only if two walks lack it. member names both the capability and the member of
// the result that holds the entries.
func (t *T) WalkUnlessNotified(ctx context.Context, method, member string, pages int) {
	if !t.Inventory.Declares(member + ".listChanged") {
		inventory.Walk(ctx, t.Conversation(ctx), method, member, pages)
	}
}

// Start returns a conversation after its handshake, with a fresh server or one that
// other cases have used. It ends the case as blocked if the server does not start, refuses
// the handshake, or responds to nothing after it.
func (t *T) Start(ctx context.Context, o client.Options) *client.Conversation {
	if c := t.Opener.Continue(ctx, o); c != nil {
		return c
	}
	return t.StartFresh(ctx, o)
}

// StartFresh is like Start, but for a case that needs a server which no other case has used.
func (t *T) StartFresh(ctx context.Context, o client.Options) *client.Conversation {
	c := t.Open(ctx, o)
	if err := c.Handshake(ctx); err != nil {
		panic(Stop{Outcome: verdict.Blocked, Reason: err.Error()})
	}
	if c.Fence(ctx) != nil { // one request may get lost
		if err := c.Fence(ctx); err != nil {
			panic(Stop{Outcome: verdict.Blocked, Reason: "after the handshake the server answers nothing: " + err.Error()})
		}
	}
	t.Opener.LeaveForReuse(c)
	return c
}

// Open starts a fresh server, and returns a conversation in which nothing was sent yet. The engine
// ends the conversation after the case.
func (t *T) Open(ctx context.Context, o client.Options) *client.Conversation {
	if o.Revision == "" {
		o.Revision = t.Revision
	}
	c, err := t.Opener.Open(ctx, o)
	if err != nil {
		panic(Stop{Outcome: verdict.Blocked, Reason: err.Error()})
	}
	return c
}

// Fence waits until the server has read everything sent so far, which the response to a later
// request shows. It ends the case as not observed if the server does not respond.
func (t *T) Fence(ctx context.Context, c *client.Conversation) {
	if err := c.Fence(ctx); err != nil {
		t.GiveUp("the server did not answer a later request: " + err.Error())
	}
}

// AwaitQuiet waits until the server has nothing more to send. It ends the case as not observed if
// the server does not respond to a later request.
func (t *T) AwaitQuiet(ctx context.Context, c *client.Conversation) {
	if err := c.AwaitQuiet(ctx); err != nil {
		t.GiveUp("the server did not answer a later request: " + err.Error())
	}
}
