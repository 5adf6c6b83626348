package base

import (
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

// line is one that a client must not send, and what is permitted in return.
// Nothing of it can be broken: no sentence of the specification obliges a
// server to anything here, so that what JSON-RPC 2.0 foresees is expected,
// and whatever else is foreseeable is passed.
type line struct {
	// frame is what is sent, ID standing for an id never used and METHOD for
	// a request that any server would serve.
	frame string
	// what names the line in evidence.
	what string
	// requirement judges the answer, survival judges whether the server
	// still answers afterwards.
	requirement, survival string
	// readable: the id can be read, so that the answer may have it.
	readable bool
	// codes are those of an error that is as foreseen; empty: any.
	codes []spec.Code
	// silence is permitted.
	silence bool
	// serves: a result is permitted.
	serves bool
	// note is the finding where a result comes, of what JSON-RPC only advises
	// against; empty: a result counts as a failure like any other answer
	// that was not foreseen.
	note string
	// applies reports whether the line is one that must not be sent in a
	// revision; nil: in all.
	applies func(spec.Revision) bool
}

var (
	onlyParse   = []spec.Code{spec.CodeParse}
	onlyInvalid = []spec.Code{spec.CodeInvalidRequest}
	shapeCodes  = []spec.Code{spec.CodeInvalidRequest, spec.CodeInvalidParams}
)

// lines are ordered from the harmless to those that servers were seen to die
// of, as what follows a death costs a new server.
var lines = []line{
	{
		what: "a request without jsonrpc", frame: `{"id":ID,"method":"METHOD"}`,
		requirement: invalidRequest, survival: invalidRequest, readable: true, codes: onlyInvalid,
	},
	{
		// Neither JSON-RPC nor a schema forbids it, and neither says what to do
		// with it, so that only survival is judged: no method is one whose
		// refusal would be judged.
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
		// JSON-RPC advises senders against fractions, and has them be numbers.
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
		what: "a number", frame: `5`,
		requirement: invalidRequest, survival: invalidRequest, codes: onlyInvalid,
	},
	{
		what: "an array", frame: `[{"jsonrpc":"2.0","id":ID,"method":"METHOD"}]`,
		requirement: refusedBatch, survival: refusedBatch, readable: true, silence: true, serves: true,
		applies: func(r spec.Revision) bool { return !r.Batches() },
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
		// Decoders of streams read the object, and stumble over the rest later.
		what: "a request with a comma behind it", frame: `{"jsonrpc":"2.0","id":ID,"method":"METHOD"},`,
		requirement: parseError, survival: parseError, readable: true, silence: true,
		note: `The server serves a request with other text after it on its line.`,
	},
	{
		what: "a request with a word behind it", frame: `{"jsonrpc":"2.0","id":ID,"method":"METHOD"} garbage`,
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

// linesFor returns the lines that apply in revision r, of the requirements
// that hold over transport t.
func linesFor(r spec.Revision, t spec.Transport) []line {
	var out []line
	for _, l := range lines {
		q := spec.Requirements().Lookup(l.requirement)
		if (l.applies == nil || l.applies(r)) && q.AppliesTo(r, t) {
			out = append(out, l)
		}
	}
	return out
}

// fill returns the frame for one conversation, the id that an answer may
// have (none where it can't be read), and the number that it was made of.
func (l *line) fill(c *client.Conversation) (frame []byte, id, stem wire.ID) {
	stem = c.NewID()
	text := strings.ReplaceAll(l.frame, "METHOD", c.HarmlessMethod())
	frame = []byte(strings.ReplaceAll(text, "ID", stem.Raw()))
	if l.readable {
		id = wire.Parse(frame).Messages[0].ID
	}
	return frame, id, stem
}
