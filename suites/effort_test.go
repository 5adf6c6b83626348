package suites_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites"
)

var update = flag.Bool("update", false, "rewrite rounds.txt")

// TestEffort checks that a run against the reference server starts no more servers, opens no more
// sessions and sends no more requests than the table permits, and that rounds.txt is about right.
func TestEffort(t *testing.T) {
	type most struct{ starts, sessions, requests int } // lower them when a run needs less
	measured := roundCounter{frames: map[caseRun][]frame{}}
	for _, c := range []struct {
		name      string
		over      spec.Transport
		revisions []spec.Revision // default: all
		delay     time.Duration   // of each line of a server over stdio
		most      most
	}{
		{"stdio, 2025-11-25", spec.Stdio, []spec.Revision{spec.V20251125}, 0, most{31, 30, 1550}},
		{"stdio, 2026-07-28", spec.Stdio, []spec.Revision{spec.V20260728}, 0, most{15, 6, 2060}},
		{"stdio, all revisions", spec.Stdio, nil, 0, most{110, 95, 7260}},
		{"a slow server over stdio, 2025-11-25", spec.Stdio, []spec.Revision{spec.V20251125}, slow, most{47, 46, 1620}},
		{"a slow server over stdio, 2026-07-28", spec.Stdio, []spec.Revision{spec.V20260728}, slow, most{23, 6, 2170}},
		{"Streamable HTTP, 2025-11-25", spec.StreamableHTTP, []spec.Revision{spec.V20251125}, 0, most{68, 70, 1500}},
		{"Streamable HTTP, all revisions", spec.StreamableHTTP, nil, 0, most{212, 170, 5920}},
	} {
		suitetest.RunWhole(t, c.name, c.over, func(t *testing.T) {
			d, stop := suitetest.ReferenceOver(c.over, refserver.Options{})
			defer stop()
			var record func(engine.Recorded)
			if c.delay > 0 {
				d = delayedDialer(c.delay)
			}
			if c.delay > 0 || c.over != spec.Stdio { // with a slow server cases send more at once
				record = func(r engine.Recorded) { measured.record(caseRun{run: c.name, over: c.over}, r) }
			}
			r, err := engine.Run(t.Context(), engine.Options{
				Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: c.revisions, Jobs: 2,
				Record: record,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range []struct {
				what      string
				got, most int
			}{
				{"server starts", r.Stats.Servers, c.most.starts},
				{"sessions", r.Stats.Sessions, c.most.sessions},
				{"requests", r.Stats.Requests, c.most.requests},
			} {
				if each.got > each.most {
					t.Errorf("%d %s, more than %d; if a new case needs them, raise the numbers in most", each.got, each.what, each.most)
				}
			}
		})
	}
	if *update {
		measured.write(t)
		return
	}
	for _, c := range suites.Cases() {
		if got := measured.roundsOf(c.ID); !isAbout(c.Rounds.Stdio, got.Stdio) || !isAbout(c.Rounds.HTTP, got.HTTP) {
			t.Errorf("%s takes %+v rounds, and rounds.txt says %+v: go test ./suites -run Effort -update rewrites it", c.ID, got, c.Rounds)
		}
	}
}

// slow is more than the shortest response time with which a server counts as slow.
const slow = 60 * time.Millisecond

// delayedDialer returns a dialer for reference servers over stdio that write each line with a delay.
func delayedDialer(by time.Duration) transport.Dialer {
	return stdio.InProcess("reference", func(ctx context.Context, in io.Reader, out, errOut io.Writer, signals <-chan string) int {
		w := &laterWriter{by: by, out: out, lines: make(chan laterLine, 1<<16)}
		var writing sync.WaitGroup
		writing.Go(w.run)
		defer writing.Wait()
		defer close(w.lines)
		return refserver.ServeStdio(ctx, in, w, errOut, signals, refserver.Options{})
	})
}

// A laterWriter delays all writes by the same time.
type laterWriter struct {
	by    time.Duration
	out   io.Writer
	lines chan laterLine
}

type laterLine struct {
	due  time.Time
	text []byte
}

func (w *laterWriter) Write(b []byte) (int, error) {
	w.lines <- laterLine{time.Now().Add(w.by), slices.Clone(b)}
	return len(b), nil
}

func (w *laterWriter) run() {
	for l := range w.lines {
		<-time.After(time.Until(l.due))
		_, _ = w.out.Write(l.text) // the client may be gone
	}
}

// isAbout reports whether a number of rounds is near enough to the measured one for an estimate.
func isAbout(rounds, measured int) bool {
	const few = 10
	return rounds <= 2*measured+few && measured <= 2*rounds+few
}

// A caseRun identifies a case in one revision, transport and named run.
type caseRun struct {
	run  string
	id   string
	rev  spec.Revision
	over spec.Transport
}

// A roundCounter counts the rounds of each case: how often something is received after something
// was sent, in all its conversations together.
type roundCounter struct {
	mu     sync.Mutex
	frames map[caseRun][]frame
}

// A frame was sent or received.
type frame struct {
	at   time.Time
	sent bool
}

// record notes what a conversation of a run sent and received.
func (c *roundCounter) record(key caseRun, r engine.Recorded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key.id, key.rev = r.Occasion, r.Revision
	for _, e := range r.Events {
		switch e.Kind {
		case transcript.CaseBegan:
			key.id = e.Detail
		case transcript.Sent, transcript.Requested:
			c.frames[key] = append(c.frames[key], frame{r.Began.Add(e.At), true})
		case transcript.Received, transcript.Responded:
			c.frames[key] = append(c.frames[key], frame{r.Began.Add(e.At), false})
		}
	}
}

// roundsOf returns the rounds of a case over each transport, in the revision with the most rounds.
func (c *roundCounter) roundsOf(id string) (out suite.Rounds) {
	for key, frames := range c.frames {
		if key.id != id {
			continue
		}
		slices.SortStableFunc(frames, func(a, b frame) int { return a.at.Compare(b.at) })
		n := 0
		for i, f := range frames {
			if i > 0 && frames[i-1].sent && !f.sent {
				n++
			}
		}
		if key.over == spec.Stdio {
			out.Stdio = max(out.Stdio, n)
		} else {
			out.HTTP = max(out.HTTP, n)
		}
	}
	return out
}

func (c *roundCounter) write(t *testing.T) {
	t.Helper()
	var lines []string
	for _, each := range suites.Cases() {
		n := c.roundsOf(each.ID)
		lines = append(lines, fmt.Sprintln(each.ID, n.Stdio, n.HTTP))
	}
	slices.Sort(lines)
	if err := os.WriteFile("rounds.txt", []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
