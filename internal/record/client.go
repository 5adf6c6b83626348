package record

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A ClientMistake is a client's violation of the protocol.
type ClientMistake struct {
	Summary string // one sentence
	At      int    // the position of the offending message in the transcript
	Section string // of the specification, as the catalogue names it
}

// MaxMistakes bounds how many mistakes with the same summary are kept.
const MaxMistakes = 3

// ClientMistakes returns the client's violations of the protocol over a transport, in the order of
// the transcript. It returns at most MaxMistakes with the same summary.
func ClientMistakes(events []*transcript.Event, over spec.Transport) []ClientMistake {
	c := &client{over: over, withoutID: map[int]bool{}, ids: map[string]bool{}, kinds: map[string]int{}, httpClient: httpClient{heads: map[int]*transcript.Head{}, sentIn: map[int][]string{}}}
	for _, e := range events {
		c.dialogue.Note(e)
		switch e.Kind {
		case transcript.Requested:
			if over != spec.SSE { // over SSE each stream is a session
				c.joined = c.joined || c.opening == "" && e.Head.Has(sessionHeader)
				c.withoutID[e.Exchange] = !e.Head.Has(sessionHeader)
			}
			c.checkRequestHead(e)
		case transcript.Responded:
			c.noteStatus(e)
		case transcript.Over:
			if e.How != transcript.Complete {
				c.freeIDs(e.Exchange)
			}
			delete(c.heads, e.Exchange)
			delete(c.sentIn, e.Exchange)
		case transcript.Sent:
			c.unsure = c.joined || c.withoutID[e.Exchange]
			c.checkSent(e)
			c.checkPost(e)
		case transcript.Received:
			for i := range e.Messages() {
				if m := &e.Frame.Messages[i]; m.Kind == wire.Response {
					c.noteResponse(m)
				}
			}
		}
	}
	return c.mistakes
}

// client holds the state of the client after the events that were read, and the mistakes so far.
type client struct {
	over     spec.Transport
	mistakes []ClientMistake
	kinds    map[string]int
	dialogue transcript.Dialogue

	httpClient
	opening   string // the id of the initialize request, "" before it
	openingIn int    // the exchange that carries initialize
	opened    bool   // the server has responded to initialize
	joined    bool   // the session began before the recording: its id was seen before initialize
	// withoutID has the exchanges without a session id, whose messages may be from several clients.
	withoutID     map[int]bool
	unsure        bool // the history of the client that sent the current message is unknown
	initialized   bool
	early         *transcript.Event // the first request before notifications/initialized
	earlyID       string
	answeredEarly bool
	ids           map[string]bool // the ids of the client's requests; false for an id that may be used again
}

const (
	messages     = "basic/index#messages"
	lifecycle    = "basic/lifecycle#initialization"
	cancellation = "basic/patterns/cancellation#behavior-requirements"
)

// addMistake adds a mistake that the event shows, unless MaxMistakes have the same summary.
func (c *client) addMistake(e *transcript.Event, section, format string, args ...any) {
	summary := fmt.Sprintf(format, args...)
	if c.kinds[summary]++; c.kinds[summary] <= MaxMistakes {
		c.mistakes = append(c.mistakes, ClientMistake{Summary: summary, At: e.Seq, Section: section})
	}
}

// checkSent adds the mistakes in a frame that the client sent.
func (c *client) checkSent(e *transcript.Event) {
	for _, p := range e.Frame.Problems {
		if p.Kind != wire.Empty {
			what := "line"
			if e.Exchange != 0 {
				what = "body"
			}
			c.addMistake(e, messages, "The client sends a %s that is not a JSON-RPC message: %s.", what, p.Kind)
		}
	}
	for i := range e.Messages() {
		m := &e.Frame.Messages[i]
		if text, _ := wire.Text(m.Member("jsonrpc")); text != "2.0" && m.Kind != wire.Invalid {
			c.addMistake(e, messages, "The client sends a message without \"jsonrpc\":\"2.0\".")
		}
		switch m.Kind {
		case wire.Request:
			c.checkRequest(e, m)
		case wire.Notification:
			c.checkNotification(e, m)
		case wire.Response:
			c.checkResponse(e, m)
		default:
			c.addMistake(e, messages, "The client sends a JSON value that is neither a request, a notification nor a response.")
		}
	}
}

// checkRequest adds the mistakes in a request, and notes its id.
func (c *client) checkRequest(e *transcript.Event, m *wire.Message) {
	id := m.ID.Key()
	switch {
	case m.ID.IsNull():
		c.addMistake(e, messages, "The client sends a request with the id null.")
	case c.ids[id]:
		c.addMistake(e, messages, "The client uses the id of an earlier request again.")
	}
	c.ids[id] = true
	if e.Exchange != 0 {
		c.sentIn[e.Exchange] = append(c.sentIn[e.Exchange], id)
	}
	version, _ := wire.Text(wire.At(m.Params(), spec.MetaPointer(spec.MetaVersion)))
	switch {
	case m.Method == spec.MethodInitialize && c.opening != "":
		c.addMistake(e, lifecycle, "The client sends initialize twice.")
	case m.Method == spec.MethodInitialize:
		c.opening, c.openingIn = id, e.Exchange
	case version != "" || m.Method == spec.MethodPing || c.unsure: // requests that need no handshake
	case c.opening == "":
		c.addMistake(e, lifecycle, "The client sends a request before initialize.")
	case !c.opened:
		c.addMistake(e, lifecycle, "The client sends a request before initialize was answered.")
	case !c.initialized:
		c.noteUninitialized(e, id)
	}
}

// noteUninitialized adds a mistake for a request before notifications/initialized. Over HTTP a
// request can overtake the notification, so only a second request, sent after the response to the
// first, shows that the notification is missing.
func (c *client) noteUninitialized(e *transcript.Event, id string) {
	switch {
	case c.early == nil:
		c.early, c.earlyID = e, id
		if c.over != spec.Stdio {
			return
		}
	case !c.answeredEarly:
		return
	}
	c.addMistake(c.early, lifecycle, "The client sends a request before notifications/initialized.")
	c.initialized = true // report it only once
}

// noteResponse updates the state after a response of the server.
func (c *client) noteResponse(m *wire.Message) {
	if m.ID.Key() == c.opening && !c.opened {
		c.opened = true
		if version, _ := wire.Text(wire.At(m.Result(), "/protocolVersion")); spec.Revision(version).IsPublished() {
			c.revision = spec.Revision(version)
		}
	}
	c.answeredEarly = c.answeredEarly || c.early != nil && m.ID.Key() == c.earlyID
}

// checkNotification adds the mistakes in a notification, and notes notifications/initialized.
func (c *client) checkNotification(e *transcript.Event, m *wire.Message) {
	switch m.Method {
	case spec.MethodInitialized:
		if !c.opened && !c.unsure {
			c.addMistake(e, lifecycle, "The client sends notifications/initialized before initialize was answered.")
		}
		c.initialized = true
	case spec.MethodCancelled:
		id := m.ParamIDAt("/requestId")
		switch {
		case !id.IsPresent():
		case id.Key() == c.opening:
			c.addMistake(e, cancellation, "The client cancels initialize.")
		case c.dialogue.RequestOf(m) == nil && !c.unsure:
			c.addMistake(e, cancellation, "The client cancels a request that it did not send.")
		}
	}
}

// checkResponse adds the mistakes in a response to a request of the server.
func (c *client) checkResponse(e *transcript.Event, m *wire.Message) {
	r := c.dialogue.RequestOf(m)
	switch {
	case !m.ID.IsPresent() || m.ID.IsNull():
		if m.Has("result") {
			c.addMistake(e, messages, "The client sends a result without an id.")
		}
	case c.unsure:
	case r == nil:
		c.addMistake(e, messages, "The client responds to a request that the server did not send.")
	case r.Response().Message != m: // a request that a resumed stream delivers again is another Request, so the client may respond again
		c.addMistake(e, messages, "The client responds to a request twice.")
	}
}
