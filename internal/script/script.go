package script

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Script is a sequence of operations on one or several conversations.
type Script struct {
	Revision spec.Revision `json:"revision"`
	// Tools are the names of the server's tools that the script calls, if known.
	Tools []string `json:"tools,omitempty"`
	// NoDiscover makes conversations of the stateless era begin without server/discover, so that
	// any request may come first.
	NoDiscover bool        `json:"noDiscover,omitempty"`
	Operations []Operation `json:"operations"`
}

// Map returns a copy of the script with the function change applied to every message, and to the
// methods, ids, headers, tool names and pointers of the script.
func (s Script) Map(change func([]byte) []byte) Script {
	text := func(t string) string { return string(change([]byte(t))) }
	s.Tools, s.Operations = slices.Clone(s.Tools), slices.Clone(s.Operations)
	for i := range s.Tools {
		s.Tools[i] = text(s.Tools[i])
	}
	for i := range s.Operations {
		o := &s.Operations[i]
		o.Method, o.Message, o.At, o.Target = text(o.Method), change(o.Message), text(o.At), change(o.Target)
		o.Take = slices.Clone(o.Take)
		for n := range o.Take {
			o.Take[n].ID = change(o.Take[n].ID)
		}
		if o.Reply != nil {
			r := *o.Reply
			r.Result, o.Reply = change(r.Result), &r
		}
		if o.Exchange != nil {
			x := *o.Exchange
			x.Body, x.Headers, o.Exchange = change(x.Body), slices.Clone(x.Headers), &x
			for n := range x.Headers {
				x.Headers[n] = [2]string{text(x.Headers[n][0]), text(x.Headers[n][1])}
			}
		}
	}
	return s
}

// An Action is what an operation does.
type Action string

// The actions of operations.
const (
	// Send sends one message. In the stateless era, the player adds missing required keys of _meta
	// to a request. If the operation has a target, an earlier request whose result requires input,
	// the message retries that request: the player adds the requestState of the result, and the
	// client's responses to the result's requests for input. If the result requires no input,
	// nothing is sent.
	Send Action = "send"
	// Cancel cancels the target as the transport requires: with a notification or, in the stateless
	// era over HTTP, by closing the target's response.
	Cancel Action = "cancel"
	// Raw sends bytes unchanged. Over HTTP they are the body of one request.
	Raw Action = "raw"
	// Answer sets how the client responds to the server's later requests, or requests for input,
	// that have the operation's method.
	Answer Action = "answer"
	// Walk requests all pages of a list.
	Walk Action = "walk"
	// Fence waits until the server has read everything sent before.
	Fence Action = "fence"
	// Close ends the conversation; later operations on it begin a new one.
	Close Action = "close"
	// HTTP performs an additional HTTP exchange.
	HTTP Action = "http"
	// Repeat sends one request many times with new ids, and measures the server's memory,
	// see Growth. Once the memory is steady, it also sends requests that it cancels.
	Repeat Action = "repeat"
)

var actions = []Action{Send, Cancel, Raw, Answer, Walk, Fence, Close, HTTP, Repeat}

// An Operation is one action of a client. Any operation can be removed from a script: operations
// that need the response to a removed request are then skipped.
type Operation struct {
	Do Action `json:"do"`
	// On is the number of the conversation, counted from 0.
	On int `json:"on,omitempty"`
	// Method is the method of the message or, for Answer, of the server's requests.
	Method string `json:"method,omitempty"`
	// Message holds the bytes to send.
	Message Bytes `json:"message,omitempty"`
	// Target is the id of an earlier request, see Send and Cancel.
	Target Bytes `json:"target,omitempty"`
	// Splits are the positions in Message at which one write ends and the next one begins, for Raw.
	Splits []int `json:"splits,omitempty"`
	// Take copies values of earlier responses into the message.
	Take []Take `json:"take,omitempty"`
	// Await makes the player wait for the response before the next operation.
	Await bool `json:"await,omitempty"`
	// Together makes the player send the message in the same write as the next one.
	Together bool `json:"together,omitempty"`
	// Reply is the response to the server's requests, for Answer.
	Reply *Reply `json:"reply,omitempty"`
	// Violates names what is wrong with the message, such as the schema keyword that its params
	// violate, or is "". At is the position of the violation in the params.
	Violates string `json:"violates,omitempty"`
	At       string `json:"at,omitempty"`
	// Exchange is the HTTP request, for HTTP.
	Exchange *Exchange `json:"exchange,omitempty"`
}

// A Take copies a value from the response to an earlier request of the conversation into the params
// of a message.
type Take struct {
	ID   Bytes  `json:"id"`   // id of the request
	From string `json:"from"` // JSON pointer into the response
	Into string `json:"into"` // name of a member of the params
}

// A Reply is the client's response to a request of the server: an error if Code is not 0, a result
// if Result is set, otherwise none.
type Reply struct {
	Result Bytes `json:"result,omitempty"`
	Code   int64 `json:"code,omitempty"`
}

// Exchange is an HTTP request.
type Exchange struct {
	Method string `json:"method"`
	// Headers override those of the session; an empty value removes the header.
	Headers [][2]string `json:"headers,omitempty"`
	Body    Bytes       `json:"body,omitempty"`
	// Why describes what is wrong with the request, or is "".
	Why string `json:"why,omitempty"`
}

// Bytes are written to a replay file as a JSON value if that preserves them exactly, otherwise as a
// string, or in base64 if they are not UTF-8.
type Bytes []byte

const (
	asBase64 = "base64:"
	asText   = "text:"
)

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	var compact bytes.Buffer
	switch {
	case len(b) == 0:
		return []byte(`null`), nil
	case utf8.Valid(b) && json.Compact(&compact, b) == nil && bytes.Equal(compact.Bytes(), b) && b[0] != '"' && !bytes.Equal(b, []byte("null")):
		return b, nil
	case utf8.Valid(b):
		return wire.JSON(asText + string(b)), nil
	default:
		return wire.JSON(asBase64 + base64.StdEncoding.EncodeToString(b)), nil
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bytes) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(raw, []byte("null")) {
		*b = nil
		return nil
	}
	if raw[0] != '"' {
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return err
		}
		*b = compact.Bytes()
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(s, asBase64); ok {
		out, err := base64.StdEncoding.DecodeString(rest)
		*b = out
		return err
	}
	rest, ok := strings.CutPrefix(s, asText)
	if !ok {
		return fmt.Errorf("%.40q begins neither with %s nor with %s", s, asText, asBase64)
	}
	*b = []byte(rest)
	return nil
}

// A Message is a JSON-RPC request or, without an ID, a notification to send. Nil Params are
// omitted.
type Message struct {
	ID     wire.ID
	Method string
	Params jsontext.Value
}

// Bytes returns the message as JSON without spaces: the members jsonrpc, id, method and params, in
// this order.
func (m Message) Bytes() []byte {
	out := []byte(`{"jsonrpc":"2.0"`)
	if m.ID.IsPresent() {
		out = append(append(out, `,"id":`...), m.ID.Raw()...)
	}
	out = append(append(out, `,"method":`...), wire.Quote(m.Method)...)
	if m.Params != nil {
		out = append(append(out, `,"params":`...), m.Params...)
	}
	return append(out, '}')
}

// Conversations returns the number of conversations of the script: the highest Operation.On plus 1.
func (s Script) Conversations() int {
	n := 1
	for i := range s.Operations {
		n = max(n, s.Operations[i].On+1)
	}
	return n
}

// Size returns the number of bytes that the script sends.
func (s Script) Size() int {
	n := 0
	for i := range s.Operations {
		n += s.Operations[i].size()
	}
	return n
}

func (o *Operation) size() int {
	n := len(o.Message)
	if o.Reply != nil {
		n += len(o.Reply.Result)
	}
	if o.Exchange != nil {
		n += len(o.Exchange.Body)
		for _, h := range o.Exchange.Headers {
			n += len(h[0]) + len(h[1])
		}
	}
	return n
}

// ToolCall is a call of a tool by an operation.
type ToolCall struct {
	Operation int
	Tool      string
}

// ToolCalls returns the tool calls in the messages of the script.
func (s Script) ToolCalls() []ToolCall {
	var out []ToolCall
	for i := range s.Operations {
		for _, m := range wire.Parse(s.Operations[i].Message).Messages {
			if name, _ := wire.Text(m.ParamAt("/name")); m.Method == spec.MethodToolsCall && name != "" {
				out = append(out, ToolCall{i, strings.Clone(name)})
			}
		}
	}
	return out
}

// WithTools returns the script with Tools set to the offered tools that it calls. A replay uses
// this to notice that one of them is missing.
func (s Script) WithTools(offered []string) Script {
	s.Tools = nil
	for _, c := range s.ToolCalls() {
		if slices.Contains(offered, c.Tool) && !slices.Contains(s.Tools, c.Tool) {
			s.Tools = append(s.Tools, c.Tool)
		}
	}
	return s
}
