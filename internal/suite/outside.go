package suite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An OutsideClient sends HTTP requests that do not belong to a conversation, such as a request
// without a token or for a metadata document. It records them as remarks, so that no rule mistakes
// a refusal for a response of the session.
type OutsideClient struct {
	transport.Access
	C *client.Conversation
	t *T
}

// OutsideClient returns an OutsideClient for conversation c. It ends the case if the
// server is not reached over HTTP.
func (t *T) OutsideClient(c *client.Conversation) *OutsideClient {
	return &OutsideClient{Access: t.Web(c).C.Web().Access(), C: c, t: t}
}

// Limits of a request outside of a conversation.
const (
	outsideTimeout = 5 * time.Second
	maxOutsideBody = 1 << 20
	streamTimeout  = time.Second // for an event stream, and for the body of a refusal
)

// An OutsideResponse is the response to a request outside of a conversation.
type OutsideResponse struct {
	About  string // the request, for humans
	URL    string // of the request, without its password
	Status int    // 0 if there is no response
	Header http.Header
	Body   []byte // empty for an event stream that a GET opens
	At     int    // the position of the remark that records the request and its response
	// Peer is the address that the request was sent to; that of a proxy if there is one.
	Peer netip.Addr
}

// Send sends a request and records it with its response. about describes the request for humans. It
// ends the case if the request is invalid, the server under test does not respond, the case ran out
// of time, or the status is one that a rate limit or a proxy may have caused.
func (o *OutsideClient) Send(ctx context.Context, about, method string, u *url.URL, h http.Header, body []byte) *OutsideResponse {
	limited, cancel := o.C.Record.WithTimeout(transcript.WithClock(ctx, &o.C.Record.Clock), outsideTimeout, context.DeadlineExceeded)
	defer cancel()
	a := &OutsideResponse{About: about, URL: u.Redacted()}
	traced := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if at, err := netip.ParseAddrPort(c.Conn.RemoteAddr().String()); err == nil {
			a.Peer = at.Addr().Unmap()
		}
	}})
	r, err := http.NewRequestWithContext(traced, method, u.String(), bytes.NewReader(body))
	if err != nil {
		o.t.GiveUp("a request to " + u.Redacted() + " can't be made: " + err.Error())
	}
	r.Header = h
	response, err := o.Client.Do(r)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
		if a.Header = response.Header; a.IsStream() || response.StatusCode/100 != 2 {
			defer time.AfterFunc(streamTimeout, cancel).Stop() // neither an event stream nor the body of a refusal has to end
		}
		a.read(method, response)
	}
	if ctx.Err() != nil {
		o.t.GiveUp("the case ran out of time")
	}
	text := a.Describe()
	if err != nil {
		text += ": " + err.Error()
	}
	a.At = o.C.Record.Remark(about + " → " + text).Seq
	switch {
	case err != nil && u.Host == o.URL.Host:
		o.t.GiveUp(about + " got " + text)
	case transcript.IsInterceptedStatus(a.Status):
		o.t.GiveUp(fmt.Sprintf("%s got status %d, as from a rate limit or a proxy", about, a.Status))
	}
	return a
}

func (a *OutsideResponse) read(method string, r *http.Response) {
	a.Status = r.StatusCode
	if method != http.MethodGet || !a.IsStream() {
		a.Body, _ = io.ReadAll(io.LimitReader(r.Body, maxOutsideBody)) // of a stream, what came before the timeout
	}
}

// IsStream reports whether the response is an event stream.
func (a *OutsideResponse) IsStream() bool {
	return strings.HasPrefix(a.Header.Get("Content-Type"), transcript.EventStream)
}

// Describe describes the response in one line.
func (a *OutsideResponse) Describe() string {
	if a.Status == 0 {
		return "no response"
	}
	text := fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status))
	for _, value := range a.Header.Values("WWW-Authenticate") {
		text += ", WWW-Authenticate: " + wire.Excerpt(value, 200)
	}
	if to := a.Header.Get("Location"); to != "" {
		text += ", Location: " + wire.Excerpt(to, 200)
	}
	if len(a.Body) > 0 {
		text += " and " + cmp.Or(wire.Excerpt(a.Header.Get("Content-Type"), 80), "no Content-Type") + ": " + wire.Excerpt(string(a.Body), 200)
	}
	return text
}

// IsServed reports whether the request was served: it succeeded, and the response is not a JSON-RPC
// error.
func (a *OutsideResponse) IsServed() bool {
	return a.Status/100 == 2 && !a.carries("error")
}

// Outcome summarizes the response, so that the responses to equal requests can be compared: the
// status and, for a JSON-RPC response, "result" or the error.
func (a *OutsideResponse) Outcome() string {
	text := strconv.Itoa(a.Status)
	for _, members := range a.responses() {
		switch {
		case members["result"] != nil:
			text += " result"
		case members["error"] != nil:
			text += fmt.Sprintf(" error %s %s", wire.At(members["error"], "/code"), wire.At(members["error"], "/message"))
		}
	}
	return text
}

// CarriesResult reports whether the body, or an event in it, is a JSON-RPC response with a result.
func (a *OutsideResponse) CarriesResult() bool { return a.carries("result") }

// Result returns the result of the JSON-RPC response in the body, or in an event in it; nil if
// there is none.
func (a *OutsideResponse) Result() jsontext.Value {
	for _, members := range a.responses() {
		if result := members["result"]; result.Kind() == '{' {
			return result
		}
	}
	return nil
}

// carries reports whether the body, or an event in it, is a JSON-RPC response in which the member
// is an object.
func (a *OutsideResponse) carries(member string) bool {
	return slices.ContainsFunc(a.responses(), func(members map[string]jsontext.Value) bool { return members[member].Kind() == '{' })
}

// responses returns the members of each JSON-RPC message in the body or, if the body is an event
// stream, in its events.
func (a *OutsideResponse) responses() []map[string]jsontext.Value {
	var out []map[string]jsontext.Value
	bodies := [][]byte{a.Body}
	if a.IsStream() {
		bodies = nil
		var split transcript.Splitter
		for _, chunk := range append(split.Feed(a.Body), split.End()) { // the last event may be incomplete
			bodies = append(bodies, transcript.ParseStream(chunk).Data)
		}
	}
	for _, body := range bodies {
		members := membersOf(body)
		if version, _ := wire.Text(members["jsonrpc"]); version == "2.0" {
			out = append(out, members)
		}
	}
	return out
}

// Members returns the members of a JSON object, or nil if the body is not an object.
func (a *OutsideResponse) Members() map[string]jsontext.Value { return membersOf(a.Body) }

func membersOf(body []byte) map[string]jsontext.Value {
	value := jsontext.Value(bytes.TrimSpace(body))
	if !value.IsValid() {
		return nil
	}
	_, members := wire.Members(value)
	return members
}
