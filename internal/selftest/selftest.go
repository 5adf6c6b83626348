// Package selftest proves that the checks can fail. It runs them against the reference server
// without faults, with each legal variation, and with each fault of reference-server/faults.
package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

// An Outcome is the result of one fault or legal variation.
type Outcome string

// These are the outcomes.
const (
	Killed        Outcome = "killed"         // a finding on the requirement that the fault breaks, or a server that the fault makes unreachable
	MisAttributed Outcome = "mis-attributed" // findings, but none on that requirement, or a server that can't be judged
	Survived      Outcome = "survived"       // no finding
	Silent        Outcome = "silent"         // a conforming server without findings, except notes
	FalseAlarm    Outcome = "false alarm"    // a conforming server that has a finding or can't be judged
	NotYet        Outcome = "not yet"        // no check judges it yet, see spec.Requirement.NotJudged
	Failed        Outcome = "failed"         // the run itself failed
)

// Good reports whether the outcome is as expected.
func (o Outcome) Good() bool { return o == Killed || o == Silent || o == NotYet }

// Faultless is the id of the server without faults in the matrix.
const Faultless = "(faultless)"

// A Result is one row of the kill matrix.
type Result struct {
	Fault       string `json:"fault"`
	Requirement string `json:"requirement,omitempty"`
	Area        string `json:"area"`
	Legal       bool   `json:"legal,omitempty"`
	Title       string `json:"title"`
	Place
	Outcome Outcome `json:"outcome"`
	// By explains the outcome: for a killed fault, the check and the finding that killed it; for
	// other outcomes, the findings, the reason why no check exists, or why the run failed.
	By []string `json:"by,omitempty"`
	// Excepted is the reason why an unexpected outcome is allowed; see
	// Exception.
	Excepted string `json:"excepted,omitempty"`
	// First is the result of the first attempt, if only the retry had the
	// expected outcome. Retries run after all other rows.
	First *Try          `json:"first,omitempty"`
	Took  time.Duration `json:"-"`

	doubted bool // none of the findings was reproduced
}

// A Try is the result of one attempt of a row.
type Try struct {
	Outcome Outcome  `json:"outcome"`
	By      []string `json:"by,omitempty"`
}

// Good reports whether the outcome of the row is expected or excepted.
func (r *Result) Good() bool { return r.Outcome.Good() || r.Excepted != "" }

// Options configure a self-test.
type Options struct {
	// Faults are the faults to try. Faultless adds the server without faults.
	Faults    []faults.Fault
	Faultless bool
	// Full tries each fault and each legal variation in all of its places. By default, a fault is
	// tried in one place, and a legal variation in every revision of its era on stdio and in one
	// revision over each other transport. The checks of a fault's own requirement run first and,
	// unless those kill it, all checks. With Full, all checks run right away in the first place of
	// each fault. For a legal variation, all checks always run right away.
	Full bool
	// Workers limits how much runs concurrently. A row that begins with the checks of its own
	// requirement counts once, and a row that begins with all checks counts wholeWeight times.
	Workers int
	// Command starts the reference server as a process, for faults that only a
	// process can have. The id of the fault is appended.
	Command []string
	// Each is called with the result of each row, never concurrently.
	Each func(Result, Progress)
	// Again is called before each retry, with the number of the retry, counted from 1, and the
	// number of rows to retry. It may be called concurrently.
	Again func(n, of int)

	starts *atomic.Int64
}

// Progress is the progress of a self-test.
type Progress struct {
	Done, Total int     // rows
	Share       float64 // of the work, up to 1
}

// rowTime limits the duration of a row. A run that takes longer is assumed to hang.
const rowTime = 10 * time.Minute

// errRowTime is the cause of a context that ended after rowTime.
var errRowTime = errors.New("it took more than " + rowTime.String())

// wholeWeight is the ratio of the work of all checks to that of the checks of one requirement.
const wholeWeight = 3

// Rows are retried only if at most maxRetried of them have an unexpected outcome, or at most one in
// maxRetriedDivisor if that is more, because a busy machine does not explain a larger number.
const (
	maxRetried        = 60
	maxRetriedDivisor = 30
)

// concurrentRetries is how many rows are retried at the same time.
const concurrentRetries = 3

// job is one row to run.
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

// Run tries all faults and returns the matrix with the rows in order. If the
// context ends, unfinished rows are missing.
func Run(ctx context.Context, o Options) *Matrix {
	o.starts = new(atomic.Int64)
	jobs := o.jobs()
	m := &Matrix{Full: o.Full, Rows: make([]Result, len(jobs))}
	o.runAll(ctx, jobs, m)
	o.retry(ctx, jobs, m)
	m.Servers = int(o.starts.Load())
	m.Rows = slices.DeleteFunc(m.Rows, func(r Result) bool { return r.Outcome == "" }) // rows that an interrupt left out
	m.applyExceptions(exceptions())
	return m
}

// runAll runs the rows, as many concurrently as Workers allows, in a shuffled order.
func (o *Options) runAll(ctx context.Context, jobs []job, m *Matrix) {
	room := int64(max(1, o.Workers))
	slots := semaphore.NewWeighted(room)
	total, done, rows := int64(0), int64(0), 0
	for i := range jobs {
		total += jobs[i].weight()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, i := range shuffled(jobs) {
		j := jobs[i]
		taken := min(j.weight(), room)
		if slots.Acquire(ctx, taken) != nil {
			break // interrupted
		}
		wg.Go(func() {
			defer slots.Release(taken)
			r := o.runRow(ctx, j)
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

// shuffled returns the indices of the jobs in an order that changes little when faults are added.
// Neighbours in the table of faults are alike. If the rows ran in the order of the table, those
// that only wait for a response would run together and leave the machine idle, and those that only
// compute would overload it.
func shuffled(jobs []job) []int {
	keys, order := make([]uint64, len(jobs)), make([]int, len(jobs))
	for i, j := range jobs {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %s %s", orderSalt, j.fault.ID, j.at.Transport, j.at.Revision)
		keys[i], order[i] = h.Sum64(), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	return order
}

// orderSalt selects the order of the rows. When this value was chosen, none of the slowest rows,
// of 20 s and more, ran last. A worse order only takes longer.
const orderSalt = 2605

// retry retries the rows with unexpected outcomes, a few at a time, because a busy machine may keep
// a check from observing a fault. A kill is valid whenever it happens. A false alarm is retried
// only if none of its findings was reproduced within the first run. If the retry has the expected
// outcome, its result replaces the row, which keeps the earlier result in First.
func (o *Options) retry(ctx context.Context, jobs []job, m *Matrix) {
	var bad []int
	for i := range m.Rows {
		if r := &m.Rows[i]; r.Outcome != "" && !r.Outcome.Good() && !o.isExcepted(r) && (!jobs[i].fault.Legal || r.doubted) {
			bad = append(bad, i)
		}
	}
	if len(bad) > max(maxRetried, len(jobs)/maxRetriedDivisor) {
		return
	}
	var few errgroup.Group
	few.SetLimit(concurrentRetries)
	for n, i := range bad {
		few.Go(func() error {
			if o.Again != nil {
				o.Again(n+1, len(bad))
			}
			first := m.Rows[i]
			if second := o.runRow(ctx, jobs[i]); second.Outcome.Good() && ctx.Err() == nil {
				second.First = &Try{first.Outcome, first.By}
				m.Rows[i] = second
			}
			return nil
		})
	}
	_ = few.Wait()
}

// isExcepted reports whether the outcome of the row is excepted, in which case a retry is
// useless.
func (o *Options) isExcepted(r *Result) bool {
	return slices.ContainsFunc(exceptions(), func(e Exception) bool { return e.appliesTo(r, o.Full) && e.Outcome == r.Outcome })
}

func (o *Options) jobs() []job {
	var out []job
	if o.Faultless {
		for _, p := range Places(noFault(), true) {
			out = append(out, job{noFault(), p, true})
		}
	}
	for _, f := range o.Faults {
		places := Places(f, o.Full)
		if !o.Full {
			places = representativePlaces(f, places)
		}
		for i, p := range places {
			out = append(out, job{f, p, f.Legal || o.Full && i == 0})
		}
	}
	return out
}

func noFault() faults.Fault {
	return faults.Fault{ID: Faultless, Area: "faultless", Title: "the reference server as it should be", Legal: true, Transports: spec.Transports()}
}

// newResult returns the row of the job, without an outcome.
func (j *job) newResult() Result {
	f := &j.fault
	return Result{Fault: f.ID, Requirement: f.Requirement, Area: f.Area, Legal: f.Legal, Title: f.Title, Place: j.at}
}

// whyNotJudged returns the reason why no check can kill the fault yet, or "".
func (j *job) whyNotJudged() string {
	if q := spec.Requirements().Lookup(j.fault.Requirement); q != nil {
		return q.NotJudged
	}
	return ""
}

// runRow runs one row.
func (o *Options) runRow(ctx context.Context, j job) (res Result) {
	started := time.Now()
	res = j.newResult()
	defer func() { res.Took = time.Since(started) }()
	if reason := j.whyNotJudged(); reason != "" {
		res.Outcome, res.By = NotYet, []string{reason}
		return res
	}
	if !j.whole {
		p, late, err := o.judge(ctx, j, engine.Selection{Focus: []string{j.fault.Requirement}})
		if res.setOutcome(p, late, err, j.fault); res.Outcome == Killed {
			return res
		}
	}
	p, late, err := o.judge(ctx, j, engine.Selection{})
	res.setOutcome(p, late, err, j.fault)
	return res
}

// judge runs the checks of a row. The result late is set if rowTime ended the run.
func (o *Options) judge(ctx context.Context, j job, s engine.Selection) (p *verdict.Report, late bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rowTime, errRowTime)
	defer cancel()
	p, err = o.run(ctx, j, s, func(*engine.Options) {})
	return p, err == nil && p.Incomplete != "" && errors.Is(context.Cause(ctx), errRowTime), err
}

// run runs the checks of a row. The function change may modify the engine's options before they are
// used.
func (o *Options) run(ctx context.Context, j job, s engine.Selection, change func(e *engine.Options)) (*verdict.Report, error) {
	around, leave, err := startHelperServers(ctx, j.fault)
	if err != nil {
		return nil, err
	}
	defer leave()
	d, end := o.dialer(ctx, j, around)
	defer end()
	e := o.options(j, d, s)
	if around.issuer != nil {
		e.Issuer = around.issuer
	}
	e.Upstream = around.upstream
	change(&e)
	return engine.Run(ctx, e)
}

func (o *Options) options(j job, d transport.Dialer, s engine.Selection) engine.Options {
	e := engine.Options{
		Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: []spec.Revision{j.at.Revision},
		Selection: s, Unconfirmed: !j.fault.Legal, Target: j.fault.ID,
		StartTimeout: 3 * time.Second, Timeout: 2 * time.Second,
	}
	if j.fault.Legal { // a conforming server responds, but possibly late on a busy machine
		e.StartTimeout, e.Timeout = 20*time.Second, 10*time.Second
	}
	return e
}

// setOutcome sets the outcome of the row from the report p, or from err if there is no report. The
// argument late is set if rowTime ended the run. If the server can't be judged at all, the fault
// counts as killed only if it makes servers unreachable.
func (r *Result) setOutcome(p *verdict.Report, late bool, err error, f faults.Fault) {
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
