package base

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	parseError     = "base.parse-error"
	invalidRequest = "base.invalid-request"
	nullID         = "base.request-null-id-rejected"
	refusedBatch   = "base.batch-refused-when-undefined"
)

// line is a line that a client must not send, with the permitted responses. The specification
// does not say how a server must handle it, so a deviation is at most a warning. The expected
// responses are those that JSON-RPC 2.0 specifies; other reasonable ones are permitted, too.
type line struct {
	// frame is the line to send. In it, ID is replaced with a fresh id, and METHOD with a method
	// that any server serves.
	frame string
	// what describes the line where it is shown as evidence.
	what string
	// requirement is the requirement on the response; survival is the requirement that the server
	// still responds afterwards.
	requirement, survival string
	// readable is set if a server can read the id in the line, so that its response may have this
	// id.
	readable bool
	// codes are the permitted error codes; empty means any.
	codes []spec.Code
	// silence is set if the server is also permitted to send no response.
	silence bool
	// serves is set if a result is permitted.
	serves bool
	// note is the summary of a note about a result, for a line that JSON-RPC only advises against.
	// If it is empty, a result is judged like any other unexpected response.
	note string
	// applies reports whether the line is forbidden in a revision; nil means that it is forbidden
	// in all.
	applies func(spec.Revision) bool
}

var (
	onlyParse   = []spec.Code{spec.CodeParse}
	onlyInvalid = []spec.Code{spec.CodeInvalidRequest}
	shapeCodes  = []spec.Code{spec.CodeInvalidRequest, spec.CodeInvalidParams}
)

// lines begins with harmless lines and ends with those that crashed servers in practice, so that a
// server which such a line ends has already read the harmless ones.
var lines = []line{
	{
		what: "a request without jsonrpc", frame: `{"id":ID,"method":"METHOD"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, codes: onlyInvalid,
	},
	{
		// Neither JSON-RPC nor a schema forbids such a line or specifies the response, so only
		// survival is judged, not how the server refuses the method.
		what: "a request with members that JSON-RPC does not define", frame: `{"jsonrpc":"2.0","id":ID,"method":"com.example/does-not-exist","com.example/\u0000extra":{"nul\u0000":"\u0000"}}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, silence: true, serves: true,
	},
	{
		what: "a request of JSON-RPC 1.0", frame: `{"jsonrpc":"1.0","id":ID,"method":"METHOD"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, codes: onlyInvalid,
	},
	{
		what: "a request whose method is a number", frame: `{"jsonrpc":"2.0","id":ID,"method":5}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, codes: onlyInvalid,
	},
	{
		what: "a request whose params are a string", frame: `{"jsonrpc":"2.0","id":ID,"method":"METHOD","params":"text"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, codes: shapeCodes,
		// Since 2026-07-28 this line also lacks metadata. Without metadata the server may take it
		// for a request of an older revision.
		applies: func(r spec.Revision) bool { return r.Era() == spec.Handshake },
	},
	{
		what: "an id and nothing else", frame: `{"jsonrpc":"2.0","id":ID}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, codes: onlyInvalid, silence: true,
	},
	{
		what: "Method instead of method", frame: `{"jsonrpc":"2.0","id":ID,"Method":"METHOD"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, codes: onlyInvalid, silence: true,
	},
	{
		what: "an id with a fraction", frame: `{"jsonrpc":"2.0","id":ID.5,"method":"METHOD"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, silence: true,
		// JSON-RPC advises against ids with fractions, but does not forbid them.
		note: `The server serves a request whose id has a fraction.`,
	},
	{
		what: "an id that is an object", frame: `{"jsonrpc":"2.0","id":{},"method":"METHOD"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, silence: true,
	},
	{
		what: "an id that is true", frame: `{"jsonrpc":"2.0","id":true,"method":"METHOD"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, silence: true,
	},
	{
		what: "an id that is null", frame: `{"jsonrpc":"2.0","id":null,"method":"METHOD"}`,
		requirement: nullID, survival: invalidRequest, silence: true,
	},
	{
		what: "a line that is only a number", frame: `5`,
		requirement: invalidRequest, survival: invalidRequest, codes: onlyInvalid,
	},
	{
		what: "an array of requests", frame: `[{"jsonrpc":"2.0","id":ID,"method":"METHOD"}]`,
		requirement: refusedBatch, survival: refusedBatch, readable: true, silence: true, serves: true,
		applies: func(r spec.Revision) bool { return !r.HasBatches() },
	},
	{
		what: "an empty line", frame: ``,
		requirement: parseError, survival: parseError, silence: true,
	},
	{
		what: "a text that is not UTF-8", frame: "{\"jsonrpc\":\"2.0\",\"id\":ID,\"method\":\"com.example/\xff\xfe\"}",
		requirement: parseError, survival: parseError, readable: true, silence: true,
	},
	{
		what: "a byte order mark before a request", frame: "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":ID,"method":"METHOD"}`,
		requirement: parseError, survival: parseError, readable: true, silence: true, serves: true,
	},
	{
		// Stream decoders accept the object, and fail only later, at the text after it.
		what: "a request with a comma after it", frame: `{"jsonrpc":"2.0","id":ID,"method":"METHOD"},`,
		requirement: parseError, survival: parseError, readable: true, silence: true,
		note: `The server serves a request with other text after it on its line.`,
	},
	{
		what: "a request with a word after it", frame: `{"jsonrpc":"2.0","id":ID,"method":"METHOD"} garbage`,
		requirement: parseError, survival: parseError, readable: true, silence: true,
		note: `The server serves a request with other text after it on its line.`,
	},
	{
		what: "a sentence", frame: `this is not JSON`,
		requirement: parseError, survival: parseError, codes: onlyParse,
	},
	{
		what: "half an object", frame: `{"jsonrpc":`,
		requirement: parseError, survival: parseError, codes: onlyParse,
	},
}

// linesFor returns the lines that apply in revision r and whose requirements apply to transport t.
// In the stateless era over HTTP a server may compare the headers with the body before anything
// else, and most of the lines have no method that Mcp-Method could repeat. So it may also respond
// that the headers do not match.
func linesFor(r spec.Revision, t spec.Transport) []line {
	var out []line
	for _, l := range lines {
		q := spec.Requirements().Lookup(l.requirement)
		if (l.applies == nil || l.applies(r)) && q.AppliesTo(r, t) {
			if r.Era() == spec.Stateless && t == spec.StreamableHTTP && len(l.codes) > 0 {
				l.codes = append(slices.Clone(l.codes), spec.CodeHeaderMismatch)
			}
			out = append(out, l)
		}
	}
	return out
}

// makeFrame returns the frame for a conversation, the id that the response may have (absent if it
// can't be read), and the fresh number in that id.
func (l *line) makeFrame(c *client.Conversation) (frame []byte, id, stem wire.ID) {
	stem = c.NewID()
	text := strings.ReplaceAll(l.frame, "ID", stem.Raw())
	method := `"` + c.HarmlessMethod() + `"`
	if params := wire.Parse(c.Request(stem, c.HarmlessMethod(), nil)).Messages[0].Params(); params != nil { // the metadata that each request needs in the stateless era
		method += `,"params":` + string(params)
	}
	frame = []byte(strings.ReplaceAll(text, `"METHOD"`, method))
	if l.readable {
		id = wire.Parse(frame).Messages[0].ID
	}
	return frame, id, stem
}
