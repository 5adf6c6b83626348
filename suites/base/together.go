package base

import (
	"bytes"
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// pipelineRequests makes in one write what was answered one by one: forth and back,
// so that the last of the first round is the first of the second.
func pipelineRequests(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	asks := knownRequests(ctx, t, c)
	if len(asks) == 0 {
		t.GiveUp("nothing that the server offers came at once")
	}
	var requests [][]byte
	var of []*knownRequest
	add := func(a *knownRequest) {
		requests, of = append(requests, a.frame(c)), append(of, a)
	}
	for i := range asks {
		add(&asks[i])
		if i%3 == 0 {
			requests, of = append(requests, pingFrame(c)), append(of, nil)
		}
	}
	for i := range asks {
		add(&asks[len(asks)-1-i])
	}
	judgeCrossed(ctx, t, c, asks, of, c.DoAll(ctx, requests))
}

// judgeCrossed judges replies to requests that were made at once; of says what
// each asked for, nil for what does not matter. What differs from the answer
// that came by itself may have changed. It is the answer to another request
// when that one's came, and the own one comes again as soon as it is asked for
// by itself. Of two reads, what came must bear the URI of the other, for
// what resources hold may be alike at times.
func judgeCrossed(ctx context.Context, t *suite.T, c *client.Conversation, asks []knownRequest, of []*knownRequest, replies []*client.Reply) {
	seen := false
	for i, r := range replies {
		if of[i] == nil || !r.Succeeded() {
			continue
		}
		if other := requestOfResponse(asks, of[i], r); other != nil && haveEqualResults(c.Do(ctx, of[i].method, of[i].params, client.Within(aloneTime)), of[i].response) {
			t.Deviates(c, verdict.Deviation{
				Requirement: idEcho,
				Summary:     "The server answers a request with the response to a concurrent one.",
				Permitted:   "as for a single request: " + wire.Excerpt(string(of[i].response.Message.Result()), 120),
				Seen:        "as for " + other.method + ": " + wire.Excerpt(string(r.Message.Result()), 120),
				At:          r.Positions(),
			})
			return
		}
		seen = true
	}
	if seen {
		t.Kept(idEcho)
	}
}

// requestOfResponse returns the ask whose answer the reply to another one is, nil for none.
func requestOfResponse(asks []knownRequest, own *knownRequest, r *client.Reply) *knownRequest {
	if haveEqualResults(r, own.response) {
		return nil
	}
	for i := range asks {
		if haveEqualResults(r, asks[i].response) && own.isDistinguishableFrom(&asks[i]) {
			return &asks[i]
		}
	}
	return nil
}

// isDistinguishableFrom reports whether the answers to two requests can't be the same.
func (a *knownRequest) isDistinguishableFrom(other *knownRequest) bool {
	if a.method != other.method {
		return true
	}
	uri, _ := other.params["uri"].(string)
	own, _ := a.params["uri"].(string)
	return a.method == spec.MethodResourcesRead && slices.Equal(other.contentURIs(), []string{uri}) && slices.Equal(a.contentURIs(), []string{own}) && uri != own
}

// contentURIs are those in the contents that a resource was given by itself.
func (a *knownRequest) contentURIs() []string {
	var all []string
	for _, contents := range wire.Elements(wire.At(a.response.Message.Result(), "/contents")) {
		uri, _ := wire.Text(wire.At(contents, "/uri"))
		if !slices.Contains(all, uri) {
			all = append(all, uri)
		}
	}
	return all
}

func haveEqualResults(a, b *client.Reply) bool {
	return a.Succeeded() && b.Succeeded() && bytes.Equal(a.Message.Result(), b.Message.Result())
}

// repeatRequest makes one request many times over. That all answers are alike nobody
// promised; that there is one for each, a rule sees.
func repeatRequest(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	one := requestsWithResult(ctx, c, resourceReads(t, 1))
	if len(one) == 0 {
		one = knownRequests(ctx, t, c)
	}
	if len(one) == 0 {
		t.GiveUp("nothing that the server offers came at once")
	}
	most := crowd
	if t.Transport != spec.Stdio {
		most = crowdOverHTTP
	}
	most = min(most, max(bigOnes, maxBytes/one[0].responseSize()))
	for range timesMore {
		if c.BurstSize(most, one[0].frame(c)) == most || !c.Do(ctx, one[0].method, one[0].params, client.Within(aloneTime)).Answered() {
			break
		}
	}
	requests := make([][]byte, c.BurstSize(most, one[0].frame(c)))
	for i := range requests {
		requests[i] = one[0].frame(c)
	}
	c.DoAll(ctx, requests)
	c.Do(ctx, one[0].method, one[0].params, client.Within(aloneTime))
}

// sendLargeBesideSmall requests the longest response and the shortest at once: what is written
// in several pieces must not be torn by what is written meanwhile.
func sendLargeBesideSmall(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	asks := knownRequests(ctx, t, c)
	if len(asks) == 0 {
		t.GiveUp("nothing that the server offers came at once")
	}
	biggest := &asks[0]
	for i := range asks {
		if asks[i].responseSize() > biggest.responseSize() {
			biggest = &asks[i]
		}
	}
	var requests [][]byte
	for range min(bigOnes, max(1, maxBytes/biggest.responseSize())) {
		requests = append(requests, biggest.frame(c), pingFrame(c))
	}
	c.DoAll(ctx, requests)
}
