package engine

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// locatePointer returns the span of the value that a JSON pointer names. For a
// member the span includes the name. For a missing value it is that of the
// enclosing object, or nil if that is the whole text.
func locatePointer(raw []byte, pointer string) *verdict.Span {
	for pointer != "" {
		if at := findValue(raw, jsontext.Pointer(pointer)); at != nil {
			return at
		}
		pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
	}
	return nil
}

func findValue(raw []byte, pointer jsontext.Pointer) *verdict.Span {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	// Computing the pointer of a token takes time in proportion to its depth,
	// so it is computed only for tokens as deep as the value, or one level
	// above.
	deep := strings.Count(string(pointer), "/")
	for {
		from := dec.InputOffset()
		token, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		kind := token.Kind()
		if d := dec.StackDepth(); d != deep && d != deep+1 {
			continue
		}
		if dec.StackPointer() != pointer || kind == '}' || kind == ']' {
			continue
		}
		from += int64(len(raw[from:]) - len(bytes.TrimLeft(raw[from:], " \t\r\n,:")))
		switch _, read := dec.StackIndex(dec.StackDepth()); {
		case kind == '{' || kind == '[':
			for depth := dec.StackDepth(); dec.StackDepth() >= depth; {
				if _, err := dec.ReadToken(); err != nil {
					return nil
				}
			}
		case kind == '"' && isName(dec, read):
			if err := dec.SkipValue(); err != nil {
				return nil
			}
		}
		return &verdict.Span{From: int(from), To: int(dec.InputOffset())}
	}
}

// isName reports whether the token just read is the name of a member; read is
// the number of tokens of its object that were read so far.
func isName(dec *jsontext.Decoder, read int64) bool {
	in, _ := dec.StackIndex(dec.StackDepth())
	return in == '{' && read%2 == 1
}

// longestLabel bounds a label, in bytes.
const longestLabel = 80

// labelEvent describes an event in a few words. Text from the server is
// unchanged.
func labelEvent(e *transcript.Event) string {
	switch e.Kind {
	case transcript.Sent, transcript.Received:
		return labelFrame(e)
	case transcript.Requested:
		if e.Head != nil {
			return shorten(e.Head.Method() + " " + e.Head.Target())
		}
	case transcript.Responded:
		if e.Head != nil {
			return shorten(strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Head.Status(), e.Head.MediaType())))
		}
	case transcript.Signalled:
		return shorten("signal " + e.Detail)
	case transcript.GaveUp:
		return "no response"
	case transcript.OutputClosed:
		return "the server closed its output"
	case transcript.InputClosed:
		return "its input was closed"
	case transcript.Exited:
		return "the server ended"
	case transcript.Over:
		return "the exchange ended: " + string(e.How)
	}
	return string(e.Kind)
}

func labelFrame(e *transcript.Event) string {
	ms := e.Messages()
	switch {
	case len(ms) == 0:
		return "not a JSON-RPC message"
	case e.Frame.Batch:
		return fmt.Sprintf("batch of %d", len(ms))
	}
	m := &ms[0]
	id := ""
	if m.ID.Present() {
		id = " · id " + m.ID.Raw()
	}
	switch {
	case m.Kind == wire.Request, m.Kind == wire.Notification:
		return shorten(m.Method + id)
	case m.Kind == wire.Response && m.IsError():
		if code, ok := m.ErrorCode(); ok {
			return shorten(fmt.Sprintf("error %d%s", code, id))
		}
		return shorten("error" + id)
	case m.Kind == wire.Response:
		return shorten("result" + id)
	}
	return m.Kind.String()
}

func shorten(s string) string { return strings.TrimSpace(s[:min(len(s), longestLabel)]) }
