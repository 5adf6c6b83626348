package exchange

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// limited is a server that refuses as many requests as it is told to, and keeps the bodies of all.
type limited struct {
	mu     sync.Mutex
	left   int
	after  string
	bodies []string
}

// ServeHTTP implements http.Handler.
func (s *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(body))
	if s.left--; s.left < 0 {
		return
	}
	w.Header().Set("Retry-After", s.after)
	w.WriteHeader(http.StatusTooManyRequests)
}

// serveLimited starts the server, and returns its URL and how to reach it.
func serveLimited(t *testing.T, s *limited) (*url.URL, Reach) {
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	u, err := url.Parse(h.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	return u, Reach{Pacer: NewPacer()}
}

// kinds returns the kinds of the events of a record.
func kinds(rec *transcript.Transcript) string {
	var all []string
	for _, e := range rec.From(0) {
		all = append(all, string(e.Kind))
	}
	return strings.Join(all, " ")
}

// TestRefused checks that a refused request is sent again as it was, and that the record holds one
// exchange, with its numbers and times those of the attempt that was served.
func TestRefused(t *testing.T) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	for name, r := range map[string]transport.Request{
		"short":   {Method: "POST", Body: body},
		"chunked": {Method: "POST", Body: body, Chunks: []int{10}},
		"pieces":  {Method: "POST", Body: body, Pieces: []int{10}},
		"long":    {Method: "POST", Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2*shortRequest) + `"}`)},
		"kept":    {Method: "POST", Body: body, Keep: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &limited{left: 2}
			u, reach := serveLimited(t, s)
			rec := transcript.New()
			c, err := Open(u, reach, rec)
			if err != nil {
				t.Fatal(err)
			}
			p := c.Begin(t.Context(), Request{URL: u, Request: r})
			<-p.Over()
			c.Wait()
			if len(s.bodies) != 3 || slices.ContainsFunc(s.bodies, func(b string) bool { return b != string(r.Body) }) {
				t.Errorf("the server got %q", s.bodies)
			}
			if got, want := kinds(rec), "opened remark remark remark remark request sent response over"; got != want {
				t.Errorf("the record holds %s", got)
			}
			x := transcript.ExchangesOf(rec.From(0)).All()
			if len(x) != 1 || x[0].Number != p.Number() || p.Head().Status() != 200 || len(x[0].Sent.Messages()) != 1 {
				t.Errorf("there are %d exchanges", len(x))
			}
			if rec.HeldTime() < firstPause {
				t.Errorf("the clock stood still for %v", rec.HeldTime())
			}
		})
	}
}

// TestRefusedToken checks that a request that is sent again carries the token of that time.
func TestRefusedToken(t *testing.T) {
	u, reach := serveLimited(t, &limited{left: 1})
	tokens := []string{"old", "new"}
	reach.Token = func() (token string) {
		token, tokens = tokens[0], tokens[1:]
		return token
	}
	rec := transcript.New()
	c, err := Open(u, reach, rec)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Begin(t.Context(), Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte("{}")}}).Over()
	x := transcript.ExchangesOf(rec.From(0)).All()
	if len(x) != 1 || x[0].RequestHead().Get("Authorization") != "Bearer new" {
		t.Errorf("the record holds %s", kinds(rec))
	}
}

// TestRefusedDropped checks that an exchange can be dropped while it waits, and that its end is
// recorded.
func TestRefusedDropped(t *testing.T) {
	for name, drop := range map[string]func(*Pending, context.CancelFunc){
		"dropped": func(p *Pending, _ context.CancelFunc) { p.Drop() },
		"context": func(_ *Pending, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			u, reach := serveLimited(t, &limited{left: 100, after: "30"})
			rec := transcript.New()
			c, err := Open(u, reach, rec)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := c.Begin(ctx, Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte("{}")}})
			for deadline := time.Now().Add(20 * time.Second); !strings.Contains(kinds(rec), "remark"); <-time.After(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("it was not refused")
				}
			}
			drop(p, cancel)
			<-p.Over()
			if how, detail := p.HowEnded(); how != transcript.Dropped {
				t.Errorf("it ended %s: %s", how, detail)
			}
			if got := kinds(rec); got != "opened remark remark request over" {
				t.Errorf("the record holds %s", got)
			}
		})
	}
}

// TestRefusedTooLong checks that a refusal that demands too long a wait is the response.
func TestRefusedTooLong(t *testing.T) {
	u, reach := serveLimited(t, &limited{left: 1, after: "3600"})
	rec := transcript.New()
	c, err := Open(u, reach, rec)
	if err != nil {
		t.Fatal(err)
	}
	p := c.Begin(t.Context(), Request{URL: u, Request: transport.Request{Method: "GET"}})
	<-p.Over()
	if p.Head().Status() != 429 || kinds(rec) != "opened request response over" {
		t.Errorf("%s: %s", p.Head().Line, kinds(rec))
	}
}

// TestRefusedAccess checks that requests outside of a link are sent again too, which stops the
// clock of their context.
func TestRefusedAccess(t *testing.T) {
	s := &limited{left: 1}
	u, reach := serveLimited(t, s)
	var clock transcript.Clock
	for _, body := range []string{"{}", ""} {
		s.left, s.bodies = 1, nil
		q, err := http.NewRequestWithContext(transcript.WithClock(t.Context(), &clock), http.MethodPost, u.String(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r, err := reach.Access(u).Client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != 200 || !slices.Equal(s.bodies, []string{body, body}) {
			t.Errorf("status %d; the server got %q", r.StatusCode, s.bodies)
		}
	}
	if clock.HeldTime() < 2*firstPause-50*time.Millisecond {
		t.Errorf("the clock stood still for %v", clock.HeldTime())
	}
	// A server that is not the one of the link is none of the pacer's concern.
	other, _ := serveLimited(t, &limited{left: 1})
	r, err := reach.Access(u).Client.Get(other.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != 429 {
		t.Errorf("status %d", r.StatusCode)
	}
}
