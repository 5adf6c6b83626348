package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Options configure a comparison.
type Options struct {
	Direct, Through Route
	Revision        spec.Revision
	Timeout         time.Duration
	StartTimeout    time.Duration
	Expected        []string     // names of changes that the user expects
	Say             func(string) // reports progress to the user
}

// A Route leads to an upstream, directly or through a gateway. Each route has its own upstream,
// because one client's changes may be visible to all clients.
type Route struct {
	Upstream *Upstream
	Dialer   transport.Dialer

	reading *visit // the session that probes share if they only read; nil if there is none
}

// Names returns the names of all probes.
func Names() []string {
	var out []string
	for _, p := range probes() {
		out = append(out, p.name)
	}
	return out
}

// Compare compares a client's view of the upstream through the gateway with the view without
// the gateway.
func Compare(ctx context.Context, o Options) *verdict.Gateway {
	g := &verdict.Gateway{Revision: o.Revision, Lost: []verdict.LostRequirement{}, Changes: []verdict.Change{}, Unchanged: []string{}, NotCompared: []verdict.NotCompared{}}
	defer o.endReading()
	names := o.readNames(ctx, o.Direct)
	o.Direct.Upstream.names, o.Through.Upstream.names = names, names
	for _, p := range probes() {
		if ctx.Err() != nil {
			g.NotCompared = append(g.NotCompared, verdict.NotCompared{Name: p.name, Reason: endedBefore})
			continue
		}
		o.Say("comparing with and without the gateway: " + p.title)
		change, err := o.compare(ctx, &p)
		for range moreTries {
			if change == nil || change.Outcome != verdict.Warning || ctx.Err() != nil {
				break
			}
			o.endReading() // each retry has sessions of its own
			if again, failed := o.compare(ctx, &p); again == nil && failed == nil {
				change.Outcome, change.Title = verdict.Note, change.Title+" (at times)"
			}
		}
		switch {
		case ctx.Err() != nil && (err != nil || change != nil): // the difference may be caused by the end of the run
			g.NotCompared = append(g.NotCompared, verdict.NotCompared{Name: p.name, Reason: endedBefore})
		case err != nil:
			g.NotCompared = append(g.NotCompared, verdict.NotCompared{Name: p.name, Reason: err.Error()})
		case change != nil:
			g.Changes = append(g.Changes, *change)
		default:
			g.Unchanged = append(g.Unchanged, p.name)
		}
	}
	slices.SortStableFunc(g.Changes, func(a, b verdict.Change) int { return cmp.Compare(b.Outcome, a.Outcome) })
	g.Direct, g.Through = o.measureLatency(ctx, o.Direct), o.measureLatency(ctx, o.Through)
	return g
}

// endedBefore is the reason why a probe was not run or not completed.
const endedBefore = "the run ended before"

// longestProbe is the time limit of a probe, as a multiple of the request timeout.
const longestProbe = 4

// moreTries is the number of retries after a warning, because a race may have caused the
// difference.
const moreTries = 2

// compare runs a probe over both routes, and returns the change that the gateway makes, or nil if
// the values are equal. An error says why the comparison failed.
func (o *Options) compare(ctx context.Context, p *probe) (*verdict.Change, error) {
	var through any
	var failed error
	var both sync.WaitGroup
	both.Go(func() { through, failed = o.valueOf(ctx, p, &o.Through) })
	direct, err := o.valueOf(ctx, p, &o.Direct)
	both.Wait()
	unopened, missing := (*openError)(nil), (*notOfferedError)(nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("without the gateway: %w", err)
	case errors.As(failed, &unopened), errors.As(failed, &missing), failed != nil && p.isLegal:
		return nil, failed
	}
	return o.changeOf(p, direct, through, failed), nil
}

// readNames returns the names of all tools and prompts, including extra, which the upstream offers
// only at times. The keys of the outer map are those of nameLists. If no session can be opened, the
// result has only extra.
func (o *Options) readNames(ctx context.Context, r Route) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for list := range nameLists {
		out[list] = map[string]bool{extra: true}
	}
	v, err := o.open(ctx, r)
	if err != nil {
		return out
	}
	defer v.Close()
	for list, method := range nameLists {
		entries, _ := v.readList(ctx, method, list, "name")
		for name := range entries {
			out[list][name] = true
		}
	}
	return out
}

// valueOf runs a probe and returns its value. Consecutive probes that only read share a session;
// any other probe gets its own.
func (o *Options) valueOf(ctx context.Context, p *probe, r *Route) (any, error) {
	v := r.reading
	if !p.reads || v == nil || !v.Alive() {
		r.endReading()
		var err error
		if v, err = o.open(ctx, *r); err != nil {
			return nil, err
		}
		if p.reads {
			r.reading = v
		} else {
			defer v.Close()
		}
	}
	limit := longestProbe * v.Options().Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	if err := v.requireCapability(p.capability); err != nil {
		return nil, err
	}
	return p.value(ctx, v)
}

// endReading ends the sessions that probes share.
func (o *Options) endReading() {
	o.Direct.endReading()
	o.Through.endReading()
}

func (r *Route) endReading() {
	if r.reading != nil {
		r.reading.Close()
		r.reading = nil
	}
}

// mostDetails bounds the details of a change.
const mostDetails = 5

// changeOf returns the difference between two values of a probe, or nil if they are equal. failed
// is the error of the probe through the gateway, or nil; an error counts as a difference.
func (o *Options) changeOf(p *probe, direct, through any, failed error) *verdict.Change {
	c := &verdict.Change{Name: p.name, Title: p.title, Outcome: verdict.Note, Section: p.section, Expected: slices.Contains(o.Expected, p.name)}
	isLoss := failed != nil
	if failed != nil {
		c.Details = []string{failed.Error()}
	} else {
		all := differences("", direct, through)
		if len(all) == 0 {
			return nil
		}
		for i := range all {
			isLoss = isLoss || !all[i].isAdded()
			if i < mostDetails {
				c.Details = append(c.Details, all[i].String())
			}
		}
		if more := len(all) - mostDetails; more > 0 {
			c.Details = append(c.Details, fmt.Sprintf("and %d more", more))
		}
	}
	if isLoss && !p.isLegal && !c.Expected {
		c.Outcome = verdict.Warning
	}
	return c
}

// latencyPings is the number of requests that are timed.
const latencyPings = 20

// measureLatency returns the median response time of a harmless request (see
// client.Conversation.HarmlessMethod), or 0 if there is no response.
func (o *Options) measureLatency(ctx context.Context, r Route) time.Duration {
	v, err := o.open(ctx, r)
	if err != nil {
		return 0
	}
	defer v.Close()
	var all []time.Duration
	for range latencyPings {
		if r := v.Do(ctx, v.HarmlessMethod(), nil); r.Err == nil {
			all = append(all, r.Event.At-r.Sent.At)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
