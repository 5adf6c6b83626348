package suite

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An Outside sends HTTP requests that do not belong to a conversation, such as one without a token,
// or one for a metadata document. They are recorded as remarks, so that no rule mistakes a refusal
// for an answer of a session.
type Outside struct {
	transport.Access
	C *client.Conversation
	t *T
}

// Outside returns the handle for requests outside of conversation c. It ends the case if the
// server is not reached over HTTP.
func (t *T) Outside(c *client.Conversation) *Outside {
	return &Outside{Access: t.Web(c).C.Web().Access(), C: c, t: t}
}

// Limits of a request outside of a conversation.
const (
	outsideTime = 5 * time.Second
	outsideBody = 1 << 20
)

// An OutsideAnswer is the response to a request outside of a conversation.
type OutsideAnswer struct {
	About  string // the request, for humans
	Status int    // 0 if there is no response
	Header http.Header
	Body   []byte // of an event stream that a GET opens: nothing
	At     int    // the position that shows both
}

// Send sends a request and records it with its response; about says what it is. It ends the case if
// the server under test does not respond.
func (o *Outside) Send(ctx context.Context, about, method string, u *url.URL, h http.Header, body []byte) *OutsideAnswer {
	limited, cancel := context.WithTimeout(ctx, outsideTime)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, method, u.String(), bytes.NewReader(body))
	if err != nil {
		o.t.GiveUp("a request to " + u.Redacted() + " can't be made: " + err.Error())
	}
	r.Header = h
	a := &OutsideAnswer{About: about}
	response, err := o.Client.Do(r)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
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
	if err != nil && u.Host == o.URL.Host {
		o.t.GiveUp(about + " got " + text)
	}
	return a
}

func (a *OutsideAnswer) read(method string, r *http.Response) {
	a.Status, a.Header = r.StatusCode, r.Header
	if method != http.MethodGet || !strings.HasPrefix(a.Header.Get("Content-Type"), transcript.EventStream) {
		a.Body, _ = io.ReadAll(io.LimitReader(r.Body, outsideBody))
	}
}

// Describe describes the response in one line.
func (a *OutsideAnswer) Describe() string {
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
		text += ", " + wire.Excerpt(a.Header.Get("Content-Type"), 80) + ": " + wire.Excerpt(string(a.Body), 200)
	}
	return text
}

// IsServed reports whether the request was served.
func (a *OutsideAnswer) IsServed() bool { return a.Status/100 == 2 }

// Members returns the members of a JSON object, nil if the body is none.
func (a *OutsideAnswer) Members() map[string]jsontext.Value {
	body := jsontext.Value(bytes.TrimSpace(a.Body))
	if !body.IsValid() {
		return nil
	}
	_, members := wire.Members(body)
	return members
}
