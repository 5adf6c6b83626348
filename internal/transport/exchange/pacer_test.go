package exchange

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A limit refuses requests: it returns the head fields of the refusal, or false.
type limit func() (refusal, bool)

// bucket permits a rate and bursts.
func bucket(perSecond float64, burst int, after time.Duration) limit {
	l := rate.NewLimiter(rate.Limit(perSecond), burst)
	return func() (refusal, bool) {
		return refusal{status: 429, after: "x", wait: after}, !l.Allow()
	}
}

// window permits a number of requests in each window.
func window(n int, each time.Duration) limit {
	var mu sync.Mutex
	began, used := time.Now(), 0
	return func() (refusal, bool) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(began) >= each {
			began, used = time.Now(), 0
		}
		if used++; used <= n {
			return refusal{}, false
		}
		return refusal{status: 429, after: "x", wait: (each - time.Since(began)).Truncate(time.Second) + time.Second}, true
	}
}

// send sends a request, again if the pacer says so, and reports whether it was served.
func send(ctx context.Context, p *Pacer, from *sender, l limit) (served bool, refusals int) {
	for {
		passed, err := p.waitTurn(ctx, &transcript.Clock{}, from, refusals > 0)
		if err != nil {
			return false, refusals
		}
		time.Sleep(2 * time.Millisecond)
		r, refused := l()
		if !refused {
			p.noteServed(refusals > 0)
			return true, refusals
		}
		if refusals++; !p.noteRefused(r, passed, refusals) {
			return false, refusals
		}
	}
}

// run sends requests by several senders, and returns how many were served, how many refusals there
// were, and how long it took.
func run(t *testing.T, p *Pacer, l limit, requests, senders int) (served, refusals int64, took time.Duration) {
	var left, ok, refused atomic.Int64
	left.Store(int64(requests))
	began := time.Now()
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			from := &sender{}
			for left.Add(-1) >= 0 {
				good, n := send(t.Context(), p, from, l)
				refused.Add(int64(n))
				if good {
					ok.Add(1)
				}
			}
		})
	}
	all.Wait()
	return ok.Load(), refused.Load(), time.Since(began)
}

// TestPacer checks that every request is served under usual limits, with few refusals, in not much
// more time than the limit needs.
func TestPacer(t *testing.T) {
	for _, c := range []struct {
		name     string
		limit    func() limit
		requests int
		refusals int64
		within   time.Duration
		notice   string
	}{
		{"no limit", func() limit { return bucket(1e9, 1e9, 0) }, 2000, 0, 2 * time.Second, `^$`},
		{"20 a second", func() limit { return bucket(20, 20, time.Second) }, 2000, 60, 115 * time.Second, `waited \d times, .* s in all, and slowed down to (1[6-9]|2[0-3]) requests a second`},
		{"50 a second", func() limit { return bucket(50, 50, time.Second) }, 2000, 60, 48 * time.Second, `slowed down to (4|5)\d requests a second`},
		{"50 a second, bursts of 5", func() limit { return bucket(50, 5, time.Second) }, 2000, 100, 90 * time.Second, `requests a second`},
		{"10 a second, without Retry-After", func() limit { return bucket(10, 10, 0) }, 500, 100, 75 * time.Second, `slowed down to ([89]|1\d) requests a second`},
		{"100 a minute", func() limit { return window(100, time.Minute) }, 500, 60, 6 * time.Minute, `slowed down to (9\d|1[01]\d) requests a minute|2 requests a second`},
		{"40 a minute, without Retry-After", func() limit {
			l := window(40, time.Minute)
			return func() (refusal, bool) { _, refused := l(); return refusal{status: 429}, refused }
		}, 100, 100, 4 * time.Minute, `requests a (minute|second)`},
		{"10 a minute", func() limit { return window(10, time.Minute) }, 50, 80, 6 * time.Minute, `slowed down to (60|6\d) requests a minute`},
		{"one in three, at any rate", func() limit {
			var n atomic.Int64
			return func() (refusal, bool) { return refusal{status: 429, wait: time.Second}, n.Add(1)%3 == 0 }
		}, 100, 60, 4 * time.Minute, `requests a minute`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPacer()
				served, refusals, took := run(t, p, c.limit(), c.requests, 8)
				t.Logf("%d refusals, %v: %s", refusals, took, p.Notice())
				if served != int64(c.requests) {
					t.Errorf("%d of %d were served", served, c.requests)
				}
				if refusals > c.refusals || took > c.within {
					t.Errorf("there were %d refusals; it took %v", refusals, took)
				}
				if !regexp.MustCompile(c.notice).MatchString(p.Notice()) {
					t.Errorf("the notice is %q", p.Notice())
				}
			})
		})
	}
}

// TestPacerGivesUp checks that a server that serves nothing costs a bounded time, and little for
// each further request.
func TestPacerGivesUp(t *testing.T) {
	always := func(wait time.Duration) limit {
		return func() (refusal, bool) { return refusal{status: 429, after: "y", wait: wait}, true }
	}
	for _, c := range []struct {
		name   string
		limit  limit
		within time.Duration
		notice string
		said   string // while it waited; "" for nothing
	}{
		{"without a time", always(0), 10 * time.Second, "the server limits requests (429, Retry-After: y): mcp-conform waited 5 times, 7.8 s in all, which did not help, and stopped waiting", "waiting 4 s, as the server's rate limit demands (429, Retry-After: y)"},
		{"half a minute", always(30 * time.Second), 65 * time.Second, "mcp-conform waited 2 times, 60 s in all, which did not help", "waiting 30 s, as the server's rate limit demands (429, Retry-After: y)"},
		{"an hour", always(time.Hour), time.Second, "mcp-conform waits at most 60 s, and sent no refused request again", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, said := NewPacer(), ""
				p.Say = func(text string) { said = cmp.Or(said, text) }
				served, _, took := run(t, p, c.limit, 200, 8)
				if said != c.said {
					t.Errorf("it said %q", said)
				}
				if served != 0 || took > c.within {
					t.Errorf("%d were served; it took %v", served, took)
				}
				if !strings.Contains(p.Notice(), c.notice) {
					t.Errorf("the notice is %q", p.Notice())
				}
			})
		})
	}
}

// TestPauseEnd checks until when a server wants no more requests.
func TestPauseEnd(t *testing.T) {
	for _, c := range []struct {
		refusals []refusal
		want     time.Duration // from the beginning
	}{
		{nil, 0},
		{[]refusal{{status: 429, wait: 10 * time.Second}}, 10 * time.Second},
		{[]refusal{{status: 429, wait: 120 * time.Second}, {status: 429, wait: 5 * time.Second}}, 120 * time.Second},
		{[]refusal{{status: 429, wait: 1 << 62}}, maxPause},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, began := NewPacer(), time.Now()
			for _, r := range c.refusals {
				p.noteRefused(r, began, 1)
			}
			if got := p.PauseEnd(); c.want == 0 && !got.IsZero() || c.want > 0 && got.Sub(began) != c.want {
				t.Errorf("%v: %v", c.refusals, got.Sub(began))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer()
		run(t, p, func() (refusal, bool) { return refusal{status: 429}, true }, 1, 1)
		if wait := time.Until(p.PauseEnd()); wait != maxWait {
			t.Errorf("after giving up without Retry-After: %v", wait)
		}
	})
}

// TestPacerGivesUpLater checks that a server that has served requests gets a minute for its limit
// before the pacer gives up, also if it does not say how long to wait.
func TestPacerGivesUpLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer()
		var n atomic.Int64
		served, _, took := run(t, p, func() (refusal, bool) { return refusal{status: 429}, n.Add(1) > 50 }, 200, 8)
		if served != 50 || took < maxWait || took > maxWait+5*time.Second {
			t.Errorf("%d were served; it took %v", served, took)
		}
		if want := "waited 8 times, 60 s in all, which did not help, and stopped waiting"; !strings.Contains(p.Notice(), want) {
			t.Errorf("the notice is %q", p.Notice())
		}
	})
}

// TestPacerOneRequest checks that a request that is always refused does not stop the others for
// long.
func TestPacerOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := NewPacer(), time.Now()
		never := func() (refusal, bool) { return refusal{status: 429, wait: 20 * time.Second}, true }
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if ok, _ := send(t.Context(), p, &sender{}, never); ok {
					t.Error("it was served")
				}
			})
			all.Go(func() {
				if ok, _ := send(t.Context(), p, &sender{}, bucket(1000, 1000, 0)); !ok {
					t.Error("another request was not served")
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 90*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestPacerOrder checks that refused requests pass first, then those of conversations that are
// under way, and that a request whose context ends does not wait.
func TestPacerOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer()
		old, fresh, other := &sender{}, &sender{}, &sender{}
		passed, _ := p.waitTurn(t.Context(), &transcript.Clock{}, old, false)
		time.Sleep(time.Millisecond)
		if !p.noteRefused(refusal{status: 429, wait: 2 * time.Second}, passed, 1) {
			t.Fatal("it is not sent again")
		}
		for range 2 * minSent { // so that there is a rate
			p.pace.noteSent(time.Now())
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		enter := func(name string, from *sender, again bool) {
			all.Go(func() {
				var clock transcript.Clock
				if _, err := p.waitTurn(t.Context(), &clock, from, again); err != nil || clock.HeldTime() < time.Second {
					t.Errorf("%s: %v, held for %v", name, err, clock.HeldTime())
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			synctest.Wait()
		}
		enter("other", fresh, false)
		enter("next", old, false)
		enter("last", old, false)
		enter("again", other, true)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if _, err := p.waitTurn(ctx, &transcript.Clock{}, &sender{}, false); err == nil || err.Error() != "enough" {
			t.Error(err)
		}
		all.Wait()
		if got := strings.Join(order, " "); got != "again next last other" {
			t.Error(got)
		}
	})
}

// TestRefusalOf checks which responses are refusals, and how long a wait they demand.
func TestRefusalOf(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		status      int
		after, date string
		refused     bool
		wait        time.Duration
	}{
		{429, "", "", true, 0},
		{429, "2", "", true, 2 * time.Second},
		{429, " 120 ", "", true, 2 * time.Minute},
		{429, "-1", "", true, 0},
		{429, "soon", "", true, 0},
		{429, "9223372036854775807", "", true, 9223372036 * time.Second},
		{429, "99999999999999999999999", "", true, 0},
		{429, date(3 * time.Second), "", true, 3 * time.Second},
		{429, date(-time.Hour), "", true, 0},
		{429, date(3 * time.Second), date(2 * time.Second), true, time.Second}, // the server's clock is ahead
		{503, "", "", false, 0},
		{503, "soon", "", false, 0},
		{503, "2", "", true, 2 * time.Second},
		{503, date(time.Second), "", true, time.Second},
		{502, "2", "", false, 0},
		{200, "2", "", false, 0},
	} {
		h := http.Header{"Retry-After": {c.after}, "Date": {c.date}}
		r, refused := refusalOf(c.status, h.Get, now)
		if refused != c.refused || refused && r.wait != c.wait {
			t.Errorf("%d, %q, %q: %v, %v", c.status, c.after, c.date, refused, r.wait)
		}
	}
}
