package rules

import (
	"mime"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A HeaderFlaw is one way in which the HTTP headers of a request of the stateless era are wrong.
// The headers mirror parts of the body (2026-07-28,
// basic/transports/streamable-http#request-metadata).
type HeaderFlaw int

// The flaws for which a server refuses a request with HeaderMismatch.
const (
	VersionMissing HeaderFlaw = iota // no MCP-Protocol-Version
	VersionDiffers                   // MCP-Protocol-Version is not the version in _meta
	MethodMissing                    // no Mcp-Method
	MethodDiffers
	NameMissing // no Mcp-Name where the method needs one
	NameDiffers
	NameInvalid  // characters that no header may have, or a broken Base64 form
	ParamMissing // no Mcp-Param header for an argument that requires one
	ParamDiffers
	ParamInvalid
)

// The first three are flaws that a server should ignore. OtherHeaders stands for all flaws that may
// be a reason to refuse the request, or whose outcome the specification does not regulate.
const (
	SessionNamed  HeaderFlaw = iota + 100 // an Mcp-Session-Id
	StreamResumed                         // a Last-Event-ID
	ParamUnknown                          // an Mcp-Param header that belongs to no argument
	OtherHeaders
)

// RequestHeaders holds the values that the headers of a stateless request must agree with.
type RequestHeaders struct {
	tools headers.Tools // the arguments that headers mirror, by tool
	host  string        // the Host header of the first request

	transport spec.Transport
	requests  *Requests
}

// ParamsOf returns the arguments of a tool that headers mirror; known is false if no list
// contained the tool.
func (h *RequestHeaders) ParamsOf(tool string) (all []headers.Argument, known bool) {
	all, known = h.tools[tool]
	return all, known
}

// noteRequest records what is wrong with the headers of a request.
func (h *RequestHeaders) noteRequest(req *Request) {
	req.HeaderFlaws = h.flawsOf(req)
	if name, _ := wire.Text(req.Message.ParamAt("/name")); req.Message.Method == spec.MethodToolsCall {
		_, listed := h.ParamsOf(name)
		req.UnlistedTool = !listed
	}
}

// noteTools records a result of tools/list.
func (h *RequestHeaders) noteTools(m *wire.Message) {
	if h.transport != spec.StreamableHTTP {
		return
	}
	if h.tools == nil {
		h.tools = headers.Tools{}
	}
	h.tools.AddList(m.Result())
}

// flawsOf returns what is wrong with the headers of a request. It returns nil over stdio, and for a
// transcript without headers.
func (h *RequestHeaders) flawsOf(req *Request) []HeaderFlaw {
	x := h.requests.Exchanges().Of(req.Event)
	if h.transport != spec.StreamableHTTP || x == nil || x.Request == nil || x.Request.Head == nil {
		return nil
	}
	head, m := x.RequestHead(), req.Message
	var out []HeaderFlaw
	switch version := head.Get(headers.Version); {
	case !head.Has(headers.Version):
		out = append(out, VersionMissing)
	case version != req.Metadata.Version && req.Metadata.Version != "":
		out = append(out, VersionDiffers)
	}
	switch method := head.Get(headers.Method); {
	case headers.Encode(m.Method) != m.Method: // the Base64 form is only for other headers
		out = append(out, OtherHeaders)
	case !head.Has(headers.Method):
		out = append(out, MethodMissing)
	case method != m.Method:
		out = append(out, MethodDiffers)
	}
	name, named := headers.NameOf(m)
	switch {
	case !headers.RequiresNameHeader(m.Method) && head.Has(headers.Name):
		out = append(out, OtherHeaders)
	case !named:
	case !head.Has(headers.Name):
		out = append(out, NameMissing)
	default:
		switch value, ok := headers.Decode(head.Get(headers.Name)); {
		case !ok:
			out = append(out, NameInvalid)
		case value != name:
			out = append(out, NameDiffers)
		}
	}
	if m.Method == spec.MethodToolsCall {
		out = append(out, h.paramFlaws(head, name, m.ParamAt("/arguments"))...)
	}
	if head.Has("Mcp-Session-Id") {
		out = append(out, SessionNamed)
	}
	if head.Has("Last-Event-ID") {
		out = append(out, StreamResumed)
	}
	if h.isOddHead(head) {
		out = append(out, OtherHeaders)
	}
	return out
}

// isOddHead reports whether a header that mirrors no part of the body may be a reason to refuse the
// request: Content-Type, Accept, Host or Origin.
func (h *RequestHeaders) isOddHead(head *transcript.Head) bool {
	if h.host == "" {
		h.host = head.Get("Host")
	}
	accept := strings.ToLower(head.Get("Accept"))
	media, _, err := mime.ParseMediaType(head.Get("Content-Type"))
	return head.Has("Origin") || !strings.EqualFold(head.Get("Host"), h.host) ||
		!strings.Contains(accept, "application/json") || !strings.Contains(accept, transcript.EventStream) || err != nil || media != "application/json"
}

// paramFlaws compares the Mcp-Param headers of a call with its arguments. For a tool that no list
// contained, it returns OtherHeaders if the call has any of these headers.
func (h *RequestHeaders) paramFlaws(head *transcript.Head, tool string, arguments jsontext.Value) []HeaderFlaw {
	all, known := h.ParamsOf(tool)
	var out []HeaderFlaw
	mirrored := map[string]bool{}
	for _, p := range all {
		header := headers.Param + p.Name
		mirrored[strings.ToLower(header)] = true
		argument := p.ValueIn(arguments)
		switch {
		case argument == nil && head.Has(header):
			out = append(out, OtherHeaders)
		case argument == nil:
		case !head.Has(header):
			out = append(out, ParamMissing)
		default:
			switch value, ok := headers.Decode(head.Get(header)); {
			case !ok:
				out = append(out, ParamInvalid)
			case !EqualsArgument(value, argument):
				out = append(out, ParamDiffers)
			}
		}
	}
	for _, f := range head.Fields {
		if name := strings.ToLower(f.Name); strings.HasPrefix(name, strings.ToLower(headers.Param)) && !mirrored[name] {
			if !known {
				return append(out, OtherHeaders)
			}
			return append(out, ParamUnknown)
		}
	}
	return out
}

// EqualsArgument reports whether a header value represents an argument: a string as it is, an
// integer by its value, a boolean as true or false.
func EqualsArgument(value string, argument jsontext.Value) bool {
	switch argument.Kind() {
	case '"':
		text, _ := wire.Text(argument)
		return value == text
	case '0':
		return wire.RawID(value).Same(wire.RawID(string(argument)))
	default:
		return value == string(argument)
	}
}
