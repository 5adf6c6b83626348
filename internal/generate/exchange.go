package generate

import (
	"bytes"
	"slices"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// wrongExchange generates HTTP requests that are wrong in one way. Most of them contain a valid
// message with the given id.
func (o *Offer) wrongExchange(id wire.ID) *rapid.Generator[*script.Exchange] {
	all := wrongExchanges
	if o.isStateless() {
		all = slices.Concat(wrongExchanges, wrongStatelessExchanges)
	}
	return rapid.Custom(func(t *rapid.T) *script.Exchange {
		x := rapid.SampledFrom(all).Draw(t, "exchange")
		if x.Body != nil {
			x.Body = bytes.ReplaceAll(x.Body, []byte("MESSAGE"), o.harmlessRequest(id))
		}
		return &x
	})
}

// wrongStatelessExchanges are requests of the stateless era whose headers lack or contradict what
// the body says (2026-07-28, basic/transports/streamable-http#server-validation).
var wrongStatelessExchanges = []script.Exchange{
	{Why: "no Mcp-Method", Method: "POST", Headers: [][2]string{{"Mcp-Method", ""}}, Body: script.Bytes("MESSAGE")},
	{Why: "the method of another request", Method: "POST", Headers: [][2]string{{"Mcp-Method", "tools/list"}}, Body: script.Bytes("MESSAGE")},
	{Why: "the method in capitals", Method: "POST", Headers: [][2]string{{"Mcp-Method", "SERVER/DISCOVER"}}, Body: script.Bytes("MESSAGE")},
	{Why: "no version", Method: "POST", Headers: [][2]string{{"MCP-Protocol-Version", ""}}, Body: script.Bytes("MESSAGE")},
	{Why: "the version of another request", Method: "POST", Headers: [][2]string{{"MCP-Protocol-Version", "2025-11-25"}}, Body: script.Bytes("MESSAGE")},
}

// wrongExchanges are HTTP requests that a server is not required to serve.
var wrongExchanges = []script.Exchange{
	{Why: "an unusual method", Method: "PUT", Body: script.Bytes("MESSAGE")},
	{Why: "another unusual method", Method: "PATCH", Body: script.Bytes("MESSAGE")},
	{Why: "a body of another type", Method: "POST", Headers: [][2]string{{"Content-Type", "text/plain"}}, Body: script.Bytes("MESSAGE")},
	{Why: "a body without a type", Method: "POST", Headers: [][2]string{{"Content-Type", ""}}, Body: script.Bytes("MESSAGE")},
	{Why: "nothing is accepted", Method: "POST", Headers: [][2]string{{"Accept", "image/png"}}, Body: script.Bytes("MESSAGE")},
	{Why: "an empty body", Method: "POST", Body: script.Bytes("")},
	{Why: "a body that is not JSON", Method: "POST", Body: script.Bytes("{")},
	{Why: "a body that is not UTF-8", Method: "POST", Body: script.Bytes("\xff\xfe{}")},
	{Why: "a body with text after the message", Method: "POST", Body: script.Bytes("MESSAGE x")},
	{Why: "an unknown session", Method: "POST", Headers: [][2]string{{"Mcp-Session-Id", "no-such-session"}}, Body: script.Bytes("MESSAGE")},
	{Why: "a session with odd characters", Method: "POST", Headers: [][2]string{{"Mcp-Session-Id", "~!@#$%^&*()"}}, Body: script.Bytes("MESSAGE")},
	{Why: "an unpublished version", Method: "POST", Headers: [][2]string{{"MCP-Protocol-Version", "1999-01-01"}}, Body: script.Bytes("MESSAGE")},
	{Why: "a GET that accepts no stream", Method: "GET", Headers: [][2]string{{"Accept", "application/json"}}},
	{Why: "the head alone is asked for", Method: "HEAD"},
	{Why: "many headers", Method: "POST", Headers: manyHeaders(), Body: script.Bytes("MESSAGE")},
}

func manyHeaders() [][2]string {
	var out [][2]string
	for range 60 {
		out = append(out, [2]string{"X-Nobody-Knows", "x"})
	}
	return out
}
