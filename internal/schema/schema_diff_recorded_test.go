package schema

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/fixtures"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A recordedMessage is a message that a real server sent, with the method of its request.
type recordedMessage struct {
	message *wire.Message
	asked   string
	file    string
}

// recordedMessages returns the messages of the servers in all recorded sessions.
func recordedMessages(t *testing.T) []recordedMessage {
	files, err := fs.Glob(fixtures.Transcripts, "transcripts/recorded/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no recorded sessions: %v", err)
	}
	var out []recordedMessage
	for _, file := range files {
		data, err := fixtures.Transcripts.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := transcript.ReadRecordings(file, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			out = append(out, messagesIn(s.Events, file)...)
		}
	}
	return out
}

func messagesIn(events []*transcript.Event, file string) []recordedMessage {
	var out []recordedMessage
	asked := map[string]string{}
	for _, e := range events {
		for i := range e.Messages() {
			m := &e.Messages()[i]
			switch {
			case e.IsCut() || m.Kind == wire.Invalid:
			case e.Kind == transcript.Sent && m.Kind == wire.Request:
				asked[m.ID.Key()] = m.Method
			case e.Kind == transcript.Received && m.Kind == wire.Response:
				out = append(out, recordedMessage{m, asked[m.ID.Key()], file})
			case e.Kind == transcript.Received:
				out = append(out, recordedMessage{m, "", file})
			}
		}
	}
	return out
}

// payload returns the part of a message to compare, and the subject to compare it with.
func (o *official) payload(v *Validator, s recordedMessage) (raw []byte, x subject) {
	m := s.message
	switch suffix := "Notification"; {
	case m.Kind == wire.Response && m.Has("result"):
		x.official = func(value any) *jsonschema.Schema {
			if t := v.resultType(s.asked, wire.JSON(value)); t != v.plain.result {
				return o.at(t.name)
			}
			return o.at("Result")
		}
		x.judge = func(v *Validator, raw []byte) []Violation { return v.CheckResult(s.asked, raw) }
		return m.Result(), x
	case m.Kind == wire.Response:
		x.official = func(value any) *jsonschema.Schema { return o.at(o.errorPath(v, wire.JSON(value))) }
		x.judge = func(v *Validator, raw []byte) []Violation { return v.CheckError(raw) }
		return m.Member("error"), x
	case m.Kind == wire.Request:
		suffix = "Request"
		fallthrough
	default:
		x.official = func(any) *jsonschema.Schema {
			if def := o.withMethod(m.Method, suffix); def != "" {
				return o.both("JSONRPC"+suffix, def)
			}
			return o.at("JSONRPC" + suffix)
		}
		x.wrap = func(params any) any {
			message := map[string]any{"jsonrpc": "2.0", "method": m.Method, "params": params}
			if suffix == "Request" {
				message["id"] = json.Number("1")
			}
			return message
		}
		x.judge = func(v *Validator, raw []byte) []Violation { return v.CheckMessage(&wire.Parse(raw).Messages[0], "") }
		return m.Params(), x
	}
}

// errorPath returns where the official schema defines the error in raw, which its code selects.
func (o *official) errorPath(v *Validator, raw []byte) string {
	switch t := v.errorType(raw); {
	case t != v.plain.err:
		return t.name + "/properties/error"
	case o.revision.AtLeast(spec.V20251125):
		return "Error"
	default:
		return "JSONRPCError/properties/error"
	}
}

// TestAgreesOnRecordedSessions checks that messages of real servers, unchanged and
// with one mutation, are judged as the official schemas judge them, in every
// revision.
func TestAgreesOnRecordedSessions(t *testing.T) {
	folder := schemaFolder(t)
	all := recordedMessages(t)
	for _, r := range spec.Revisions() {
		t.Run(string(r), func(t *testing.T) {
			o, v := readOfficial(t, folder, r), For(r)
			altered := 0
			compare := func(t failer, s recordedMessage, alter func(any) any) {
				raw, x := o.payload(v, s)
				if raw == nil {
					return
				}
				var value any
				decoder := json.NewDecoder(bytes.NewReader(raw))
				decoder.UseNumber()
				if err := decoder.Decode(&value); err != nil {
					t.Fatalf("%s: %v", s.file, err)
				}
				if value = alter(value); isDropped(value) {
					return
				}
				if x.wrap != nil {
					value = x.wrap(value)
				}
				altered++
				ours, theirs := asserted(x.judge(v, wire.JSON(value))), x.official(value).Validate(value)
				if (len(ours) == 0) != (theirs == nil) && (theirs == nil || o.exemption(theirs) < 0) {
					t.Fatalf("%s: %s\nhere: %v\nofficial: %v", s.file, wire.JSON(value), ours, theirs)
				}
			}
			for _, s := range all {
				compare(t, s, func(value any) any { return value })
			}
			rapid.Check(t, func(rt *rapid.T) {
				s := rapid.SampledFrom(all).Draw(rt, "message")
				for range mutationsEach {
					compare(rt, s, func(value any) any { return drawMutation(rt, value, memberNames) })
				}
			})
			t.Logf("%d comparisons of %d messages of recorded sessions", altered, len(all))
		})
	}
}

// A failer is a *testing.T or a *rapid.T.
type failer interface {
	Fatalf(format string, args ...any)
}

// memberNames are the names that mutations use for members.
var memberNames = []string{
	"type", "text", "blob", "data", "mimeType", "uri", "name", "title", "content", "contents", "structuredContent", "isError", "role",
	"annotations", "priority", "audience", "lastModified", "icons", "inputSchema", "outputSchema", "execution", "size", "nextCursor",
	"values", "total", "hasMore", "message", "code", "progress", "progressToken", "level", "logger", "capabilities", "_meta",
}
