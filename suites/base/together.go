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

// pipelineRequests sends in one write the requests that were answered one by one before: in order,
// then in reverse order, so that the last request is sent twice in a row.
func pipelineRequests(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	candidates := findServedRequests(ctx, t, c)
	if len(candidates) == 0 {
		t.GiveUp("the server answered none of the requests for what it offers at once")
	}
	var requests [][]byte
	var origins []*plainRequest
	add := func(a *plainRequest) {
		requests, origins = append(requests, a.frame(c)), append(origins, a)
	}
	for i := range candidates {
		add(&candidates[i])
		if i%3 == 0 {
			requests, origins = append(requests, pingFrame(c)), append(origins, nil)
		}
	}
	for i := range candidates {
		add(&candidates[len(candidates)-1-i])
	}
	judgeConcurrentReplies(ctx, t, c, candidates, origins, c.DoAll(ctx, requests))
}

// judgeConcurrentReplies judges the replies to concurrent requests; origins has the request of
// each, nil for requests that don't matter. A result that differs from that of the same request
// sent alone may have changed legitimately. It counts as the result of another request only if it
// equals that request's result, and the expected result comes back when the request is repeated
// alone. If both requests are reads, the result must also have the URI of the other, because
// resources may have equal contents.
func judgeConcurrentReplies(ctx context.Context, t *suite.T, c *client.Conversation, candidates []plainRequest, origins []*plainRequest, replies []*client.Reply) {
	seen := false
	for i, r := range replies {
		if origins[i] == nil || !r.Succeeded() {
			continue
		}
		if other := requestOfResponse(candidates, origins[i], r); other != nil && haveEqualResults(c.Do(ctx, origins[i].method, origins[i].params, client.Within(aloneTime)), origins[i].response) {
			t.Report(c, verdict.Deviation{
				Requirement: idEcho,
				Summary:     "The server answers a request with the response to a concurrent one.",
				Permitted:   "the response that a single request gets: " + wire.Excerpt(string(origins[i].response.Message.Result()), 120),
				Seen:        "the response to " + other.method + ": " + wire.Excerpt(string(r.Message.Result()), 120),
				At:          r.Positions(),
			})
			return
		}
		seen = true
	}
	if seen {
		t.MarkKept(idEcho)
	}
}

// requestOfResponse returns the other request to which r, the reply to own, really belongs. It
// returns nil if there is none.
func requestOfResponse(candidates []plainRequest, own *plainRequest, r *client.Reply) *plainRequest {
	if haveEqualResults(r, own.response) {
		return nil
	}
	for i := range candidates {
		if haveEqualResults(r, candidates[i].response) && own.isDistinguishableFrom(&candidates[i]) {
			return &candidates[i]
		}
	}
	return nil
}

// isDistinguishableFrom reports whether the results of two requests can be told apart: the methods
// differ, or both read a resource, and each result names only the URI of its own request.
func (a *plainRequest) isDistinguishableFrom(other *plainRequest) bool {
	if a.method != other.method {
		return true
	}
	uri, _ := other.params["uri"].(string)
	own, _ := a.params["uri"].(string)
	return a.method == spec.MethodResourcesRead && slices.Equal(other.contentURIs(), []string{uri}) && slices.Equal(a.contentURIs(), []string{own}) && uri != own
}

// contentURIs returns the URIs in the contents that the read returned when it was sent alone.
func (a *plainRequest) contentURIs() []string {
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

// repeatRequest sends one request many times. The responses need not be equal; a rule checks that
// each request has one.
func repeatRequest(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	one := keepServedRequests(ctx, c, resourceReads(t, 1))
	if len(one) == 0 {
		one = findServedRequests(ctx, t, c)
	}
	if len(one) == 0 {
		t.GiveUp("the server answered none of the requests for what it offers at once")
	}
	most := copies
	if t.Transport != spec.Stdio {
		most = copiesOverHTTP
	}
	most = min(most, max(maxLarge, maxBytes/one[0].responseSize()))
	for range slowRepeats {
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

// sendLargeWithSmall requests the longest and the shortest response concurrently, because a
// response written in several chunks must not be interleaved with others.
func sendLargeWithSmall(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	candidates := findServedRequests(ctx, t, c)
	if len(candidates) == 0 {
		t.GiveUp("the server answered none of the requests for what it offers at once")
	}
	biggest := &candidates[0]
	for i := range candidates {
		if candidates[i].responseSize() > biggest.responseSize() {
			biggest = &candidates[i]
		}
	}
	var requests [][]byte
	for range min(maxLarge, max(1, maxBytes/biggest.responseSize())) {
		requests = append(requests, biggest.frame(c), pingFrame(c))
	}
	c.DoAll(ctx, requests)
}
