package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func neverRespond(*scripted, *wire.Message) {}

func TestRequestWithoutResponse(t *testing.T) {
	inBubble(t, Options{}, neverRespond, func(t *testing.T, c *Conversation, s *scripted) {
		_ = c.Notify(t.Context(), "notifications/x", nil)
		began := time.Now()
		r := c.Do(t.Context(), "ping", nil)
		if r.Answered() || r.Succeeded() || !errors.Is(r.Err, ErrUnanswered) || r.Err.Error() != ErrUnanswered.Error() || r.Event != nil {
			t.Errorf("the reply is %+v", r)
		}
		if took := time.Since(began); took != DefaultTimeout {
			t.Errorf("it took %v", took)
		}
		if diff := cmp.Diff([]int{r.Sent.Seq}, givenUpRequests(c)); diff != "" || r.Sent.Messages()[0].Method != "ping" {
			t.Errorf("given up (-want +got):\n%s", diff)
		}
		s.write(wire.NewResult(r.Sent.Messages()[0].ID, nil)) // too late
		if again := c.AwaitResponse(t.Context(), 0, r.Sent.Messages()[0].ID); !again.Succeeded() {
			t.Errorf("the late answer is not found: %+v", again)
		}
	})
}

func TestRequestCancelledByCaller(t *testing.T) {
	inBubble(t, Options{}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		r := c.Do(ctx, "ping", nil)
		if !errors.Is(r.Err, enough) || errors.Is(r.Err, ErrUnanswered) || r.Sent == nil || len(givenUpRequests(c)) > 0 {
			t.Errorf("the reply is %+v, given up on %v", r, givenUpRequests(c))
		}
		if r = c.Do(ctx, "ping", nil); !errors.Is(r.Err, enough) || r.Sent != nil {
			t.Errorf("with an ended context the reply is %+v", r)
		}
	})
}

func TestRequestToEndingServer(t *testing.T) {
	inBubble(t, Options{}, func(s *scripted, _ *wire.Message) { s.runAfter(time.Second, s.end) }, func(t *testing.T, c *Conversation, _ *scripted) {
		if !c.Alive() {
			t.Error("the server is dead from the beginning")
		}
		r := c.Do(t.Context(), "ping", nil)
		if !errors.Is(r.Err, ErrEnded) || r.Sent == nil || len(givenUpRequests(c)) > 0 || c.Alive() {
			t.Errorf("the reply is %+v, given up on %v", r, givenUpRequests(c))
		}
		if r = c.Do(t.Context(), "ping", nil); !errors.Is(r.Err, ErrEnded) || r.Sent != nil {
			t.Errorf("after the end the reply is %+v", r)
		}
	})
}

func TestKindsOfReply(t *testing.T) {
	for _, c := range []struct {
		answer              string
		answered, succeeded bool
	}{
		{`{"id":1,"result":{}}`, true, true},
		{`{"id":1,"result":null}`, true, true},
		{`{"id":1.0,"result":{}}`, true, true},
		{`{"id":1,"error":{}}`, true, false},
		{`{"id":1,"result":{},"error":{}}`, true, false},
		{`[{"id":2,"result":{}},{"id":1,"result":{}}]`, true, true},
		{`{"id":"1","result":{}}`, false, false},
		{`{"id":1}`, false, false},
		{`{"id":1,"method":"ping","result":{}}`, false, false},
		{`{"id":null,"error":{}}`, false, false},
		{`no JSON`, false, false},
	} {
		inBubble(t, Options{}, func(s *scripted, m *wire.Message) {
			if m.Method == "x" {
				s.write([]byte(c.answer))
			}
		}, func(t *testing.T, conv *Conversation, _ *scripted) {
			r := conv.Do(t.Context(), "x", nil, WithID(wire.IntID(1)))
			if r.Answered() != c.answered || r.Succeeded() != c.succeeded || (r.Err == nil) != c.answered {
				t.Errorf("%s: answered %v, succeeded %v, error %v", c.answer, r.Answered(), r.Succeeded(), r.Err)
			}
		})
	}
}

// TestTruncatedResponse checks that a response that is too long to be kept is neither judged nor
// counted as missing.
func TestTruncatedResponse(t *testing.T) {
	inBubble(t, Options{}, func(s *scripted, m *wire.Message) {
		raw := wire.NewResult(m.ID, "x")
		s.rec.Add(transcript.Event{Kind: transcript.Received, Raw: raw, Size: int64(len(raw)) + 1})
	}, func(t *testing.T, c *Conversation, _ *scripted) {
		r := c.Do(t.Context(), "ping", nil)
		if r.Answered() || r.Event == nil || !errors.Is(r.Err, ErrTooLong) || len(givenUpRequests(c)) > 0 {
			t.Errorf("the reply is %+v", r)
		}
		if err := c.Fence(t.Context()); err != nil {
			t.Errorf("it is not a fence: %v", err)
		}
	})
}

func TestResponsesOutOfOrder(t *testing.T) {
	const requests = 20
	var held [][]byte
	c := overPipes(t, Options{}, func(m *wire.Message) ([][]byte, bool) {
		held = append(held, wire.NewResult(m.ID, m.Method))
		if len(held) < requests {
			return nil, true
		}
		slices.Reverse(held)
		return held, true
	})
	replies := make(chan string, requests)
	for i := range requests {
		go func() {
			method := fmt.Sprint("m", i)
			r := c.Do(t.Context(), method, nil)
			if !r.Succeeded() || r.Sent == nil {
				replies <- fmt.Sprintf("%s: %+v", method, r)
				return
			}
			echo, _ := wire.Text(r.Message.Result())
			if sent := r.Sent.Messages()[0]; echo != method || sent.Method != method || sent.ID != r.Message.ID || r.Event.Seq <= r.Sent.Seq {
				replies <- fmt.Sprintf("%s was answered with %s, sent as %s at %d, answered at %d", method, echo, r.Sent.Raw, r.Sent.Seq, r.Event.Seq)
				return
			}
			replies <- ""
		}()
	}
	for range requests {
		if complaint := <-replies; complaint != "" {
			t.Error(complaint)
		}
	}
}

func TestOnlyUnansweredRequestIsGivenUp(t *testing.T) {
	inBubble(t, Options{}, func(s *scripted, m *wire.Message) {
		if m.Method != "mute" {
			s.runAfter(time.Millisecond, func() { s.write(wire.NewResult(m.ID, nil)) })
		}
	}, func(t *testing.T, c *Conversation, _ *scripted) {
		done := make(chan *Reply)
		for _, method := range []string{"a", "mute", "b"} {
			go func() { done <- c.Do(t.Context(), method, nil) }()
		}
		for range 3 {
			if r := <-done; (r.Sent.Messages()[0].Method == "mute") != errors.Is(r.Err, ErrUnanswered) {
				t.Errorf("%s: %+v", r.Sent.Raw, r)
			}
		}
		of := givenUpRequests(c)
		if len(of) != 1 || c.Record.From(of[0])[0].Messages()[0].Method != "mute" {
			t.Errorf("given up on %v", of)
		}
	})
}

func TestReplyHasItsOwnRequest(t *testing.T) {
	inBubble(t, Options{}, respondNormally, func(t *testing.T, c *Conversation, s *scripted) {
		s.before = func() { s.rec.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte("of another goroutine")}) }
		id := c.NewID()
		for what, r := range map[string]*Reply{
			"ask":        c.Do(t.Context(), "ping", nil),
			"probe":      c.DoRaw(t.Context(), id, c.Request(id, "ping", nil), MayIgnore),
			"together":   c.DoAll(t.Context(), [][]byte{c.Request(c.NewID(), "ping", nil)})[0],
			"initialize": c.Initialize(t.Context()),
		} {
			if !r.Answered() || r.Sent == nil || len(r.Sent.Messages()) != 1 || r.Sent.Messages()[0].ID != r.Message.ID {
				t.Errorf("%s: %+v", what, r)
			}
		}
	})
}

func TestDoAll(t *testing.T) {
	inBubble(t, Options{}, func(s *scripted, m *wire.Message) {
		switch m.Method {
		case "a":
			s.runAfter(3*time.Second, func() { s.write(wire.NewResult(m.ID, "a")) })
		case "b":
			s.write(wire.NewResult(m.ID, "b"))
		}
	}, func(t *testing.T, c *Conversation, s *scripted) {
		began := time.Now()
		replies := c.DoAll(t.Context(), [][]byte{c.Request(c.NewID(), "a", nil), c.Request(c.NewID(), "mute", nil), c.Request(c.NewID(), "b", nil)})
		if took := time.Since(began); took != 3*time.Second+DefaultTimeout { // the time of a, then that of the silent server
			t.Errorf("it took %v", took)
		}
		if len(replies) != 3 || !replies[0].Succeeded() || !errors.Is(replies[1].Err, ErrUnanswered) || !replies[2].Succeeded() {
			t.Fatalf("the replies are %+v", replies)
		}
		for i, method := range []string{"a", "mute", "b"} {
			if got := replies[i].Sent.Messages()[0].Method; got != method {
				t.Errorf("reply %d belongs to %s", i, got)
			}
		}
		if diff := cmp.Diff([]int{replies[1].Sent.Seq}, givenUpRequests(c)); diff != "" {
			t.Errorf("given up (-want +got):\n%s", diff)
		}
		s.end()
		for _, r := range c.DoAll(t.Context(), [][]byte{c.Request(c.NewID(), "a", nil)}) {
			if !errors.Is(r.Err, ErrEnded) || r.Sent != nil {
				t.Errorf("after the end the reply is %+v", r)
			}
		}
	})
}

func TestGrace(t *testing.T) {
	inBubble(t, Options{}, respondNormally, func(t *testing.T, c *Conversation, _ *scripted) {
		for _, x := range []struct{ took, grace time.Duration }{
			{0, 100 * time.Millisecond}, {30 * time.Millisecond, 100 * time.Millisecond}, {100 * time.Millisecond, 300 * time.Millisecond},
			{50 * time.Millisecond, 300 * time.Millisecond}, {time.Minute, 2 * time.Second},
		} {
			if c.noteDuration(x.took); c.Grace() != x.grace {
				t.Errorf("after an answer in %v the grace is %v", x.took, c.Grace())
			}
		}
	})
	inBubble(t, Options{}, func(s *scripted, m *wire.Message) { s.runAfter(200*time.Millisecond, func() { respondNormally(s, m) }) },
		func(t *testing.T, c *Conversation, _ *scripted) {
			if err := c.Fence(t.Context()); err != nil || c.Grace() != 600*time.Millisecond {
				t.Errorf("the grace is %v, the error %v", c.Grace(), err)
			}
		})
}

// TestSkipQuiet checks that a conversation does not wait for silence if no case needs that.
func TestSkipQuiet(t *testing.T) {
	enough := false
	inBubble(t, Options{ShouldSkipQuiet: func() bool { return enough }}, respondNormally, func(t *testing.T, c *Conversation, _ *scripted) {
		for _, x := range []struct {
			enough bool
			err    error
			took   time.Duration
		}{{false, nil, 100 * time.Millisecond}, {true, ErrQuietSkipped, 0}} {
			enough = x.enough
			c.Do(t.Context(), "ping", nil)
			began := time.Now()
			if err := c.AwaitQuiet(t.Context()); !errors.Is(err, x.err) || time.Since(began) != x.took {
				t.Errorf("enough %v: after %v the error is %v", x.enough, time.Since(began), err)
			}
		}
	})
}

func TestShutdown(t *testing.T) {
	inBubble(t, Options{}, respondNormally, func(t *testing.T, c *Conversation, s *scripted) {
		for range 3 {
			go c.Shutdown(transport.Patience{})
		}
		c.Close()
		synctest.Wait()
		if s.shutdowns != 1 {
			t.Errorf("the link was shut down %d times", s.shutdowns)
		}
		select {
		case <-c.answering:
		default:
			t.Error("the pump still runs")
		}
		if r := c.Do(t.Context(), "ping", nil); !errors.Is(r.Err, ErrEnded) {
			t.Errorf("after it the reply is %+v", r)
		}
	})
}

func TestEndOverPipes(t *testing.T) {
	c := overPipes(t, Options{}, func(m *wire.Message) ([][]byte, bool) {
		return nil, m.Method != "die"
	})
	if r := c.Do(t.Context(), "die", nil); !errors.Is(r.Err, ErrEnded) || r.Sent == nil {
		t.Errorf("the reply is %+v", r)
	}
	if c.Alive() {
		t.Error("the server still counts as alive")
	}
	c.Close()
	c.Close()
	events := c.Record.From(0)
	if last := events[len(events)-1]; last.Kind != transcript.Exited || last.ExitCode != 3 {
		t.Errorf("the last event is %+v", last)
	}
	if got := c.Stderr(7); got != "listen\n" {
		t.Errorf("stderr ends with %q", got)
	}
	if got := c.Stderr(1000); got != "I listen\n" {
		t.Errorf("stderr is %q", got)
	}
}
