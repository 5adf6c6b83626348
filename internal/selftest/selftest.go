// Package selftest proves that the checks can fail: it runs them against the
// reference server, right, varied within the law, and wrong in every way that
// the table of faults names.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/judges"
	"github.com/mcp-conform/mcp-conform/internal/spec"
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
	NotYet        Outcome = "not yet"        // no judge exists yet, see suites.NotYet
	Failed        Outcome = "failed"         // the run itself failed
)

// Good tells whether the outcome is as it should be.
func (o Outcome) Good() bool { return o == Killed || o == Silent || o == NotYet }

// Faultless is the id under which the right server stands in the matrix.
const Faultless = "(faultless)"

// Result is one row of the kill matrix.
type Result struct {
	Fault       string `json:"fault"`
	Requirement string `json:"requirement,omitempty"`
	Title       string `json:"title"`
	Place
	Outcome Outcome `json:"outcome"`
	// By says which judge killed it and with what, or which findings there were instead.
	By   []string      `json:"by,omitempty"`
	Took time.Duration `json:"-"`
}

// Options say what is proven.
type Options struct {
	// Faults are those to try; the faultless server is tried with them
	// where Faultless is set.
	Faults    []faults.Fault
	Faultless bool
	// Full tries each fault with the whole suite over every transport and in
	// every revision that it applies to; else its own requirement's judges in
	// one revision over one transport, the whole suite only where it survives
	// those.
	Full    bool
	Workers int
	// Command starts the reference server as a process, for the faults that
	// only a process can show; the id of the fault is added.
	Command []string
	// Each is called for every row as it is known, from one goroutine at a time.
	Each func(Result)
}

// job is one row to be found out.
type job struct {
	fault faults.Fault
	at    Place
	whole bool
}

// Run tries all faults and returns the matrix in their order.
func Run(ctx context.Context, o Options) []Result {
	jobs := o.jobs()
	out := make([]Result, len(jobs))
	slots := make(chan struct{}, max(1, o.Workers))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, j := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			out[i] = o.try(ctx, j)
			mu.Lock()
			defer mu.Unlock()
			if o.Each != nil {
				o.Each(out[i])
			}
		})
	}
	wg.Wait()
	return out
}

func (o *Options) jobs() []job {
	var out []job
	if o.Faultless {
		right := faults.Fault{ID: Faultless, Title: "the reference server as it should be", Legal: true, Transports: spec.Transports()}
		for _, p := range Places(right, true) {
			out = append(out, job{right, p, true})
		}
	}
	for _, f := range o.Faults {
		places := Places(f, o.Full)
		if !o.Full {
			places = representative(f, places)
		}
		for _, p := range places {
			out = append(out, job{f, p, o.Full || f.Legal})
		}
	}
	return out
}

// try finds out one row.
func (o *Options) try(ctx context.Context, j job) (res Result) {
	started := time.Now()
	res = Result{Fault: j.fault.ID, Requirement: j.fault.Requirement, Title: j.fault.Title, Place: j.at}
	defer func() { res.Took = time.Since(started) }()
	if reason, later := suites.NotYet()[j.fault.Requirement]; later {
		res.Outcome, res.By = NotYet, []string{reason}
		return res
	}
	if !j.whole {
		p, err := o.judge(ctx, j, engine.Selection{Focus: []string{j.fault.Requirement}})
		if res.read(p, err, j.fault); res.Outcome == Killed {
			return res
		}
	}
	p, err := o.judge(ctx, j, engine.Selection{})
	res.read(p, err, j.fault)
	return res
}

func (o *Options) judge(ctx context.Context, j job, s engine.Selection) (*verdict.Report, error) {
	d, end := o.dialer(ctx, j)
	defer end()
	return engine.Run(ctx, o.options(j, d, s))
}

func (o *Options) options(j job, d transport.Dialer, s engine.Selection) engine.Options {
	return engine.Options{
		Dialer: d, Cases: suites.Cases(), Rules: judges.All(), Revisions: []spec.Revision{j.at.Revision},
		Selection: s, Unconfirmed: !j.fault.Legal, Target: j.fault.ID,
		StartTimeout: 3 * time.Second, Timeout: 2 * time.Second,
	}
}

// dialer returns how the server of a row is reached, and what ends it.
func (o *Options) dialer(ctx context.Context, j job) (d transport.Dialer, end func()) {
	f := j.fault
	switch {
	case j.at.Transport != spec.Stdio:
		h := &overHTTP{ctx: ctx, fault: f, over: j.at.Transport, lasting: f.Transports != nil && !f.Alone}
		return h, h.end
	case f.NeedsProcess:
		return stdio.NewDialer(stdio.Command{Argv: append(slices.Clone(o.Command), f.ID), Env: os.Environ()}), func() {}
	}
	return stdio.InProcess("reference", func(ctx context.Context, in io.Reader, out, errOut io.Writer, signals <-chan string) int {
		return refserver.ServeStdio(ctx, in, out, errOut, signals, serverOptions(f))
	}), func() {}
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
func (r *Result) read(p *verdict.Report, err error, f faults.Fault) {
	r.By = nil
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
	for i := range p.Findings {
		x := &p.Findings[i]
		text := fmt.Sprintf("%s by %s on %s: %s", x.Outcome, x.Judge, x.Requirement, x.Summary)
		switch {
		case x.Requirement == f.Requirement:
			on = append(on, text)
		case x.Outcome > verdict.Note:
			elsewhere = append(elsewhere, text)
		}
	}
	for i := range p.Verdicts {
		if v := &p.Verdicts[i]; v.Outcome == verdict.HarnessError {
			r.Outcome, r.By = Failed, []string{v.Requirement + ": " + v.Reason}
			return
		}
	}
	switch {
	case f.Legal && len(elsewhere) == 0:
		r.Outcome = Silent
	case f.Legal:
		r.Outcome, r.By = FalseAlarm, elsewhere
	case len(on) > 0:
		r.Outcome, r.By = Killed, on
	case len(elsewhere) > 0:
		r.Outcome, r.By = MisAttributed, elsewhere
	default:
		r.Outcome = Survived
	}
}
