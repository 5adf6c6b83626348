// Package engine runs cases against a server and reaches verdicts: it probes which revisions the
// server speaks, takes an inventory in each, runs the selected cases concurrently, applies the
// rules to every conversation, retries each deviation on a fresh server, and combines the results
// into one report.
package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/upstream"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Options configure a run.
type Options struct {
	Dialer transport.Dialer
	Cases  []suite.Case
	Rules  []rules.Rule

	// Revisions are the revisions to judge; empty means every handshake revision that the server
	// speaks, and the stateless one if the server lists it.
	Revisions []spec.Revision
	Selection Selection
	// Discounts are shared with other judges of the server in the same run, such as the fuzzer; nil
	// means that the run has its own.
	Discounts *discount.Run
	// Quick makes the run run only cheap cases, and judge only the newest revision that the server
	// speaks or, if Revisions is not empty, those. Each requirement gets the verdict that a whole
	// run would reach, or is left out.
	Quick bool
	// Jobs is the maximum number of servers that work at the same time; the default is the number
	// of cores. Servers that the run only waits for do not count; the gate limits how many of those
	// exist.
	Jobs int
	// Timeout and StartTimeout are documented in client.Options.
	Timeout, StartTimeout time.Duration
	// FirstStart replaces StartTimeout for the first session, because the server may have to be
	// downloaded; zero means StartTimeout.
	FirstStart time.Duration
	Policy     inventory.Config
	// Answered reports whether the server has responded to a connection before the run, such as the
	// one that detects the transport.
	Answered bool
	Seed     uint64
	Progress Progress
	// Issuer issues tokens that the server trusts; nil if there is none.
	Issuer suite.Issuer
	// Upstream is a double of a service that the server calls; nil if there is none.
	Upstream *upstream.Double
	// OtherToken returns a second user's current token for the server at a URL, or "" if that
	// fails. It is nil if there is no second user.
	OtherToken func(u *url.URL) string
	// TokenAdvice says what the user can do if the server refuses the token. If it is "", the error
	// has the same advice for every token.
	TokenAdvice string
	// RateLimit, if set, returns a notice about how the server's rate limit affected the run, or ""
	// if it did not.
	RateLimit func() string

	// Target is the name of the server in reports, and Version the version of mcp-conform.
	Target, Version string
	// ServerArgs are the command-line arguments that make mcp-conform connect to the server. If it
	// is nil, findings have no command line that reproduces them.
	ServerArgs []string
	// RunArgs are the flags, other than --revision and --focus, that a command line needs to repeat
	// the run.
	RunArgs []string
	// Redactor removes secrets from what reports quote. If it is nil, only secrets that can be
	// recognized by their place or form are removed.
	Redactor *transcript.Redactor
	// Unconfirmed skips the retries. The self-test sets it, because its server is known to be
	// wrong.
	Unconfirmed bool
	// Record, if set, receives every conversation after it has ended, before
	// Run returns. It is called concurrently.
	Record func(Recorded)
	// OnSighting, if set, is called before Run returns, for each finding of the report that was
	// seen in a conversation, with the finding's id and the conversation.
	OnSighting func(id string, s Sighting)
	// Tree, if set, is called once the plan is known, concurrently with the run, with every
	// selected case and rule; see RunGinkgo.
	Tree func(*Plan)
}

// Progress receives the progress of a run. Its methods are called from one
// goroutine at a time.
type Progress interface {
	Begin(target string, t spec.Transport, revisions []spec.Revision, cases int)
	Area(area string, done, total int)
	// Found reports how many different deviations were seen so far, without notes; some of them may
	// turn out to be flaky.
	Found(findings int)
	Notice(text string)
	// Waiting reports what the run waits for before the cases begin, or "" when
	// the wait ends. It is called every second.
	Waiting(text string)
	// Remaining is called every second during a long run. left is an estimate of the remaining
	// time, or 0 if there is none yet. why is the reason why the run is slow, and faster names the
	// settings that would make the next run faster; both may be empty.
	Remaining(left time.Duration, why, faster string)
}

// An UnreachableError reports that the server could not be started or reached.
type UnreachableError struct {
	Reason string // what happened
	Advice string // what to do
	Stderr string // the end of what the server wrote to stderr; untrusted
	Err    error
	// NeedsToken reports whether the server required a bearer token and the client had none. A run
	// can then still judge how the server protects itself.
	NeedsToken bool

	refusedToken bool   // the server did not accept the Authorization header
	asks         string // what the server's challenge asks for, to append to the advice
}

// AdviseToken sets the advice if the server refused the user's token and the given advice is not
// empty.
func (e *UnreachableError) AdviseToken(advice string) {
	if e.refusedToken && advice != "" {
		e.Advice = advice + e.asks
	}
}

func (e *UnreachableError) Error() string { return e.Reason }

func (e *UnreachableError) Unwrap() error { return e.Err }

// A NothingJudgedError reports that no verdict could be reached.
type NothingJudgedError struct{ Reason string }

func (e *NothingJudgedError) Error() string { return "nothing could be judged: " + e.Reason }

// ErrStatelessOnly is returned if handshake revisions were requested, but the
// server speaks only the stateless one.
var ErrStatelessOnly = &NothingJudgedError{"the server speaks only 2026-07-28 (it answered server/discover and refused initialize); --revision 2026-07-28 judges it"}

// Run judges the server. If it returns an error, there is no report. The error is a SelectionError,
// an UnreachableError, a NothingJudgedError or, if a case is invalid, the one that its Check
// returns.
func Run(ctx context.Context, o Options) (*verdict.Report, error) {
	o = o.withDefaults()
	for i := range o.Cases {
		if err := o.Cases[i].Check(); err != nil {
			return nil, err
		}
	}
	if err := o.Selection.Compile(); err != nil {
		return nil, err
	}
	if err := o.checkSelected(); err != nil {
		return nil, err
	}
	s := newSession(o)
	ctx, end := s.limit.begin(ctx)
	defer end()
	defer s.gate.drain()
	p := newProber(s)
	found, err := p.probe(ctx)
	if err != nil {
		return nil, err
	}
	offered := p.offer
	open := newInventoryTaker(s, offered).take(ctx, found)
	if reason := whyEnded(ctx); reason != "" {
		open.end(s.ender)
		return nil, &NothingJudgedError{reason + " while the run probed which revisions the server speaks and what it offers"}
	}
	for _, text := range slices.Concat(offered.unknownNames(&s.o.Policy), offered.incompleteLists()) {
		s.notices.add(text)
	}
	planned := newPlanner(s, offered).plan(ctx)
	s.gate.setMaxAlive(maxAlive(o.Jobs, s.transport(), offered.isSlow)) // the planner may have found that the server is not slow
	if planned.isEmpty() {
		open.end(s.ender)
		return nil, &SelectionError{fmt.Sprintf("the selection is empty for this server: nothing selected applies to %s over %s", joinRevisions(offered.revisions, ", "), s.transport())}
	}
	if planned.leavesOutAll() {
		open.end(s.ender)
		return nil, &SelectionError{"a quick run leaves out what is selected: its cases need servers of their own; leave --quick out"}
	}
	o.Progress.Begin(offered.displayName(o.Target), s.transport(), offered.revisions, planned.total())
	outcomes := newSpecOutcomes()
	var tree sync.WaitGroup
	if o.Tree != nil {
		tree.Go(func() {
			o.Tree(&Plan{Specs: planned.specs(&o, offered.revisions), labels: o.Selection.Labels, outcomes: outcomes})
		})
	}
	defer tree.Wait()
	s.watchServer(ctx, offered)
	x := newExecution(s, offered, planned, open)
	defer x.showOutlook(ctx)()
	c := newConfirmation(x)
	results := x.runUnits(ctx, c.confirmEarly)
	s.gate.drain()
	var deviations []*candidate
	if o.Unconfirmed {
		deviations = candidatesOf(results, s.transport())
	} else {
		deviations = c.confirm(ctx, results)
		s.gate.drain()
	}
	report := newReporting(ctx, x, results, deviations).report()
	outcomes.readReport(report, x.finished)
	return report, nil
}

func joinRevisions(revisions []spec.Revision, between string) string {
	all := make([]string, len(revisions))
	for i, r := range revisions {
		all[i] = string(r)
	}
	return strings.Join(all, between)
}

func (o Options) withDefaults() Options {
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Progress == nil {
		o.Progress = noProgress{}
	}
	if o.Policy.Policy == "" {
		o.Policy.Policy = inventory.CallSafe
	}
	if o.Redactor == nil {
		o.Redactor = transcript.NewRedactor(nil)
	}
	if o.Discounts == nil {
		o.Discounts = discount.NewRun()
	}
	return o
}

// runCommand returns the command line that judges, in revision r, the requirements, cases or rules
// whose ids are in focus. It returns nil if ServerArgs is nil.
func (o *Options) runCommand(r spec.Revision, focus []string) []string {
	if o.ServerArgs == nil {
		return nil
	}
	argv := []string{"mcp-conform", "run", "--revision", string(r)}
	for _, id := range focus {
		argv = append(argv, "--focus", id)
	}
	return slices.Concat(argv, o.RunArgs, o.ServerArgs)
}

func (o *Options) clientOptions(r spec.Revision) client.Options {
	return client.Options{Revision: r, Timeout: o.Timeout, StartTimeout: o.StartTimeout, NoteShortWaits: !o.Unconfirmed}
}

type noProgress struct{}

// Begin implements Progress.
func (noProgress) Begin(string, spec.Transport, []spec.Revision, int) {}

// Area implements Progress.
func (noProgress) Area(string, int, int) {}

// Found implements Progress.
func (noProgress) Found(int) {}

// Notice implements Progress.
func (noProgress) Notice(string) {}

// Waiting implements Progress.
func (noProgress) Waiting(string) {}

// Remaining implements Progress.
func (noProgress) Remaining(time.Duration, string, string) {}

// whyEnded returns why the context has ended, or "".
func whyEnded(ctx context.Context) string {
	if ctx.Err() == nil {
		return ""
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause.Error()
	}
	return "interrupted"
}
