// Package selftest proves that the checks can fail: it runs them against the
// reference server, right, varied within the law, and wrong in every way that
// the table of faults names.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

// Outcome is what became of one fault or variation.
type Outcome string

// The outcomes.
const (
	Killed        Outcome = "killed"         // a finding on the requirement that the fault breaks
	MisAttributed Outcome = "mis-attributed" // findings, but none on that requirement
	Survived      Outcome = "survived"       // no finding
	Silent        Outcome = "silent"         // a right server, and nothing but notes
	FalseAlarm    Outcome = "false alarm"    // a right server, and a finding
	NotYet        Outcome = "not yet"        // no judge exists yet, see spec.Requirement.NotJudged
	Failed        Outcome = "failed"         // the run itself failed
)

// Good reports whether the outcome is as it should be.
func (o Outcome) Good() bool { return o == Killed || o == Silent || o == NotYet }

// Faultless is the id under which the right server stands in the matrix.
const Faultless = "(faultless)"

// Result is one row of the kill matrix.
type Result struct {
	Fault       string `json:"fault"`
	Requirement string `json:"requirement,omitempty"`
	Area        string `json:"area"`
	Legal       bool   `json:"legal,omitempty"`
	Title       string `json:"title"`
	Place
	Outcome Outcome `json:"outcome"`
	// By says which judge killed it and with what, or which findings there
	// were instead, or what the fault waits for.
	By []string `json:"by,omitempty"`
	// Excepted is the reason for which the outcome may be as it is, though
	// it is not as it should be; see Exceptions.
	Excepted string `json:"excepted,omitempty"`
	// First is what the first try came to where only the second one, for
	// which all others had ended, was as it should be.
	First *Try          `json:"first,omitempty"`
	Took  time.Duration `json:"-"`

	doubted bool // all findings were seen once, and not when they were tried again
}

// Try is what one try of a row came to.
type Try struct {
	Outcome Outcome  `json:"outcome"`
	By      []string `json:"by,omitempty"`
}

// Good reports whether the row is as it should be, or may be otherwise.
func (r *Result) Good() bool { return r.Outcome.Good() || r.Excepted != "" }

// Options say what is proven.
type Options struct {
	// Faults are those to try; the faultless server is tried with them
	// where Faultless is set.
	Faults    []faults.Fault
	Faultless bool
	// Full tries each fault over every transport and in every revision that it
	// applies to; else in one revision over one transport. It meets its own
	// requirement's judges, and the whole suite where it survives those; with
	// Full the whole suite at once where it is tried first. Legal variations
	// always meet the whole suite: by default in every revision on stdio and in
	// one over each other transport.
	Full bool
	// Workers is how much is tried at once: a row that begins with its own
	// requirement's judges counts once, one that meets the whole suite
	// wholeWeight times.
	Workers int
	// Command starts the reference server as a process, for the faults that
	// only a process can show; the id of the fault is added.
	Command []string
	// Each is called for every row as it is known, from one goroutine at a time.
	Each func(Result, Progress)
	// Again is called when one row of several is tried once more; from several
	// goroutines.
	Again func(n, of int)

	starts *atomic.Int64
}

// Progress says how far the self-test has come.
type Progress struct {
	Done, Total int     // rows
	Share       float64 // of the work, up to 1
}

// rowTime is how long a run of a row may take: what lasts longer has no end.
const rowTime = 10 * time.Minute

// errRowTime is the cause of a row's end by its time.
var errRowTime = errors.New("it took more than " + rowTime.String())

// wholeWeight is how much more a run of the whole suite works than one of a
// single requirement's judges.
const wholeWeight = 3

// mostAgain and againOf bound the second tries, by number and as a part of all
// rows: where more goes wrong, no machine that is busy is the cause.
const (
	mostAgain = 60
	againOf   = 30
)

// againAtOnce is how many of them are tried at once.
const againAtOnce = 3

// job is one row to be found out.
type job struct {
	fault faults.Fault
	at    Place
	whole bool
}

func (j *job) weight() int64 {
	if j.whole {
		return wholeWeight
	}
	return 1
}

// Run tries all faults and returns the matrix, its rows in their order. Where
// the context ends, those are missing that were not tried to their end.
func Run(ctx context.Context, o Options) *Matrix {
	o.starts = new(atomic.Int64)
	jobs := o.jobs()
	m := &Matrix{Full: o.Full, Rows: make([]Result, len(jobs))}
	o.all(ctx, jobs, m)
	o.again(ctx, jobs, m)
	m.Servers = int(o.starts.Load())
	m.Rows = slices.DeleteFunc(m.Rows, func(r Result) bool { return r.Outcome == "" }) // those that an interrupt left out
	m.except(exceptions())
	return m
}

// all tries the rows, as many at once as there is room for.
func (o *Options) all(ctx context.Context, jobs []job, m *Matrix) {
	room := int64(max(1, o.Workers))
	slots := semaphore.NewWeighted(room)
	total, done, rows := int64(0), int64(0), 0
	for i := range jobs {
		total += jobs[i].weight()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, j := range jobs {
		taken := min(j.weight(), room)
		if slots.Acquire(ctx, taken) != nil {
			break // interrupted
		}
		wg.Go(func() {
			defer slots.Release(taken)
			r := o.try(ctx, j)
			if ctx.Err() != nil {
				return
			}
			m.Rows[i] = r
			mu.Lock()
			defer mu.Unlock()
			done += j.weight()
			rows++
			if o.Each != nil {
				o.Each(m.Rows[i], Progress{rows, len(jobs), float64(done) / float64(total)})
			}
		})
	}
	wg.Wait()
}

// again tries once more, a few at a time, what is not as it should be: a
// machine that is busy may keep a judge from seeing what there is to see. A
// kill is a proof whenever it happens. A finding on a right server is taken
// back only where it was doubted even then, and is not seen now; what it was
// stays in the row.
func (o *Options) again(ctx context.Context, jobs []job, m *Matrix) {
	var bad []int
	for i := range m.Rows {
		if r := &m.Rows[i]; r.Outcome != "" && !r.Outcome.Good() && !o.excepted(r) && (!jobs[i].fault.Legal || r.doubted) {
			bad = append(bad, i)
		}
	}
	if len(bad) > max(mostAgain, len(jobs)/againOf) {
		return
	}
	var few errgroup.Group
	few.SetLimit(againAtOnce)
	for n, i := range bad {
		few.Go(func() error {
			if o.Again != nil {
				o.Again(n+1, len(bad))
			}
			first := m.Rows[i]
			if second := o.try(ctx, jobs[i]); second.Outcome.Good() && ctx.Err() == nil {
				second.First = &Try{first.Outcome, first.By}
				m.Rows[i] = second
			}
			return nil
		})
	}
	_ = few.Wait()
}

// excepted reports whether the row may be as it is, so that nothing is to be
// seen by trying it again.
func (o *Options) excepted(r *Result) bool {
	return slices.ContainsFunc(exceptions(), func(e Exception) bool { return e.at(r, o.Full) && e.Outcome == r.Outcome })
}

func (o *Options) jobs() []job {
	var out []job
	if o.Faultless {
		for _, p := range Places(faultless(), true) {
			out = append(out, job{faultless(), p, true})
		}
	}
	for _, f := range o.Faults {
		places := Places(f, o.Full)
		if !o.Full {
			places = representative(f, places)
		}
		for i, p := range places {
			out = append(out, job{f, p, f.Legal || o.Full && i == 0})
		}
	}
	return out
}

func faultless() faults.Fault {
	return faults.Fault{ID: Faultless, Area: "faultless", Title: "the reference server as it should be", Legal: true, Transports: spec.Transports()}
}

// row is what is known of a row before it is tried.
func (j *job) row() Result {
	f := &j.fault
	return Result{Fault: f.ID, Requirement: f.Requirement, Area: f.Area, Legal: f.Legal, Title: f.Title, Place: j.at}
}

// waits returns why nobody can kill the fault so far, or "".
func (j *job) waits() string {
	if q := spec.Requirements().Lookup(j.fault.Requirement); q != nil {
		return q.NotJudged
	}
	return ""
}

// try finds out one row.
func (o *Options) try(ctx context.Context, j job) (res Result) {
	started := time.Now()
	res = j.row()
	defer func() { res.Took = time.Since(started) }()
	if reason := j.waits(); reason != "" {
		res.Outcome, res.By = NotYet, []string{reason}
		return res
	}
	if !j.whole {
		p, late, err := o.judge(ctx, j, engine.Selection{Focus: []string{j.fault.Requirement}})
		if res.read(p, late, err, j.fault); res.Outcome == Killed {
			return res
		}
	}
	p, late, err := o.judge(ctx, j, engine.Selection{})
	res.read(p, late, err, j.fault)
	return res
}

// judge runs a row's server; late reports that the run was ended by rowTime.
func (o *Options) judge(ctx context.Context, j job, s engine.Selection) (p *verdict.Report, late bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rowTime, errRowTime)
	defer cancel()
	d, end := o.dialer(ctx, j)
	defer end()
	p, err = engine.Run(ctx, o.options(j, d, s))
	return p, err == nil && p.Incomplete != "" && errors.Is(context.Cause(ctx), errRowTime), err
}

func (o *Options) options(j job, d transport.Dialer, s engine.Selection) engine.Options {
	e := engine.Options{
		Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: []spec.Revision{j.at.Revision},
		Selection: s, Unconfirmed: !j.fault.Legal, Target: j.fault.ID,
		StartTimeout: 3 * time.Second, Timeout: 2 * time.Second,
	}
	if j.fault.Legal { // a right server answers, if late on a busy machine
		e.StartTimeout, e.Timeout = 20*time.Second, 10*time.Second
	}
	return e
}

// dialer returns how the server of a row is reached, and what ends it.
func (o *Options) dialer(ctx context.Context, j job) (d transport.Dialer, end func()) {
	if f := j.fault; f.NeedsProcess && j.at.Transport == spec.Stdio {
		return counted{stdio.NewDialer(stdio.Command{Argv: append(slices.Clone(o.Command), f.ID), Env: os.Environ()}), o.starts}, func() {}
	}
	return dialer(ctx, j.fault, j.at.Transport, o.starts)
}

// Dialer returns how servers with a fault, in this process, are reached over a
// transport, and what ends them. A fault that needs a process of its own can't be
// had so on stdio.
func Dialer(ctx context.Context, f faults.Fault, over spec.Transport) (d transport.Dialer, end func()) {
	return dialer(ctx, f, over, new(atomic.Int64))
}

func dialer(ctx context.Context, f faults.Fault, over spec.Transport, starts *atomic.Int64) (d transport.Dialer, end func()) {
	if over != spec.Stdio {
		h := &overHTTP{ctx: ctx, fault: f, over: over, lasting: f.Transports != nil && !f.OwnServer, starts: starts}
		if h.lasting {
			return sharing{h}, h.end
		}
		return h, h.end
	}
	return counted{inprocess.Dialer(func() refserver.Options { return serverOptions(f) }), starts}, func() {}
}

// counted counts the servers that a dialer of stdio starts.
type counted struct {
	transport.Dialer
	starts *atomic.Int64
}

// Dial implements transport.Dialer.
func (c counted) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	c.starts.Add(1)
	return c.Dialer.Dial(ctx, rec)
}

func serverOptions(f faults.Fault) refserver.Options {
	o := refserver.Options{JSONOnly: f.JSONOnly}
	if f.Seams != nil {
		o.Seams = f.Seams()
	}
	return o
}

// read turns a report into the row's outcome. A server that can't be judged
// at all was not caught on the requirement either.
func (r *Result) read(p *verdict.Report, late bool, err error, f faults.Fault) {
	r.By, r.doubted = nil, false
	var unreachable *engine.UnreachableError
	if err != nil {
		r.By = []string{err.Error()}
		switch {
		case f.Legal:
			r.Outcome = FalseAlarm
		case f.Unreachable && errors.As(err, &unreachable):
			r.Outcome = Killed
		default:
			r.Outcome = MisAttributed
		}
		return
	}
	var on, elsewhere []string
	doubted := true
	for i := range p.Findings {
		x := &p.Findings[i]
		text := fmt.Sprintf("%s by %s on %s: %s", x.Outcome, x.Judge, x.Requirement, x.Summary)
		switch {
		case x.Requirement == f.Requirement:
			on = append(on, text)
		case x.Outcome > verdict.Note:
			elsewhere = append(elsewhere, text)
			doubted = doubted && (x.Outcome == verdict.Flaky || x.Outcome == verdict.Unconfirmed)
		}
	}
	for i := range p.Verdicts {
		if v := &p.Verdicts[i]; v.Outcome == verdict.HarnessError {
			r.Outcome, r.By = Failed, []string{v.Requirement + ": " + v.Reason}
			return
		}
	}
	switch {
	case late && len(on) == 0:
		r.Outcome, r.By = Failed, []string{p.Incomplete}
	case f.Legal && len(elsewhere) == 0:
		r.Outcome = Silent
	case f.Legal:
		r.Outcome, r.By, r.doubted = FalseAlarm, elsewhere, doubted
	case len(on) > 0:
		r.Outcome, r.By = Killed, on
	case len(elsewhere) > 0:
		r.Outcome, r.By = MisAttributed, elsewhere
	default:
		r.Outcome = Survived
	}
}
