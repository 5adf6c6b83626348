package shapes

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	structuredPresent  = "tools.structured.present"
	structuredConforms = "tools.structured.conforms"
	structuredCopy     = "tools.structured.text-copy"
)

func structuredContent() rules.Rule {
	return rules.Rule{
		ID:           "rule.structured-content",
		Title:        "tools with an output schema return structured content that fits it, and a text copy",
		Requirements: []string{structuredPresent, structuredConforms, structuredCopy},
		Start: func() rules.Fold {
			l := &toolSchemas{member: "outputSchema"}
			return rules.Fold{OnMessage: rules.Handlers{
				rules.ResultOf(spec.MethodToolsList):        l.noteList,
				rules.Notification(spec.MethodToolsChanged): l.noteChange,
				rules.ResultOf(spec.MethodToolsCall):        l.judgeResult,
			}}
		},
	}
}

// toolSchemas has the known input or output schemas of the tools.
type toolSchemas struct {
	member  string
	schemas map[string]jsontext.Value // by tool; nil if the schema is missing or unclear
}

// noteList records the schemas of a list. If a tool is listed again with another schema without an
// announced change, its schema is unclear.
func (l *toolSchemas) noteList(sess *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if l.schemas == nil {
		l.schemas = map[string]jsontext.Value{}
	}
	for _, tool := range toolsOf(sess, obs.Message) {
		if !tool.named {
			continue
		}
		s := tool.members[l.member]
		if s.Kind() != '{' {
			s = nil
		}
		if before, again := l.schemas[tool.name]; again && !bytes.Equal(before, s) {
			s = nil
		}
		l.schemas[tool.name] = s
	}
}

func (l *toolSchemas) noteChange(*rules.Session, *rules.Observation, *rules.Reporter) {
	l.schemas = nil
}

// judgeResult judges the structuredContent of a tool's result. It skips error results, which need
// not be structured, results of cancelled calls, which may be partial, and tasks, whose result
// comes later.
func (l *toolSchemas) judgeResult(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	result := obs.Message.Result()
	if !isGovernedByRevision(s, obs) || !obs.Request.WellFormed || obs.Request.IsCancelled() || result.Kind() != '{' {
		return
	}
	var outputSchema jsontext.Value
	if len(l.schemas) > 0 {
		outputSchema = l.schemas[stringAt(obs.Request.Message.Params(), "/name")]
	}
	structured := memberOf(result, "structuredContent")
	if outputSchema == nil && structured == nil {
		return
	}
	if isTrue(result, "/isError") || hasMember(result, "task") && !hasMember(result, "content") {
		return
	}
	d := verdict.Deviation{At: rules.PositionsOf(obs.Request.Event, obs.Event)}
	if structured == nil {
		d.Requirement, d.Summary = structuredPresent, "The server's tool with an outputSchema returns no structuredContent."
		d.Permitted, d.Seen = "structuredContent that fits the outputSchema", "a result of "+rules.Excerpt(wire.Quote(stringAt(obs.Request.Message.Params(), "/name")))+" without structuredContent"
		out.Report(d)
		return
	}
	if outputSchema != nil {
		out.MarkObserved(structuredPresent)
	}
	if structured.Kind() != '{' && !s.Revision().AtLeast(spec.V20260728) {
		return // reported by the message shape rule
	}
	if outputSchema != nil {
		judgeConformance(s, outputSchema, structured, d, out)
	}
	judgeTextCopy(result, structured, d, out)
}

// memberOf returns a member of an object, or nil. It is cheap if the object has no member of that
// name.
func memberOf(v jsontext.Value, name string) jsontext.Value {
	if !wire.MayHaveMember(v, name) {
		return nil
	}
	return wire.At(v, "/"+name)
}

func judgeConformance(s *rules.Session, outputSchema, structured jsontext.Value, d verdict.Deviation, out *rules.Reporter) {
	found := schema.For(s.Revision()).CheckStructuredContent(outputSchema, structured)
	if len(found) == 0 {
		out.MarkObserved(structuredConforms)
		return
	}
	d.Requirement, d.Summary = structuredConforms, "The server's structuredContent breaks the tool's outputSchema."
	d.Permitted, d.Seen, d.Pointer = found[0].Permitted, "structuredContent: "+found[0].Seen, "/result/structuredContent"
	out.Report(d)
}

// judgeTextCopy looks for a text block with the same JSON as the structured content. It skips
// results larger than maxCompared.
func judgeTextCopy(result, structured jsontext.Value, d verdict.Deviation, out *rules.Reporter) {
	if len(result) > maxCompared {
		return
	}
	for _, block := range wire.Elements(wire.At(result, "/content")) {
		copied := jsontext.Value(stringAt(block, "/text"))
		if copied.Kind() == structured.Kind() && areEqual(copied, structured) {
			out.MarkObserved(structuredCopy)
			return
		}
	}
	if structured.Kind() != '{' {
		d.Weight = verdict.OnlyNote // the specification's own example does not repeat an array either
	}
	d.Requirement, d.Summary = structuredCopy, "The server's structuredContent is not repeated as text."
	d.Permitted, d.Seen = "a text block with the JSON of structuredContent", rules.Excerpt(wire.At(result, "/content"))
	if d.Seen == "" {
		d.Seen = "no content"
	}
	out.Report(d)
}
