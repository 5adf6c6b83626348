package fuzz_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	lawbook "github.com/mcp-conform/mcp-conform/suites/fuzz"
)

const (
	refuses = "The server answers valid arguments with an error."
	denies  = "The server's tool rejects valid arguments as invalid."
	takes   = "The server's tool accepts arguments that break its inputSchema."
)

// lawsWithIDs returns laws by their ids.
func lawsWithIDs(names ...string) []fuzz.Law {
	return slices.DeleteFunc(lawbook.Laws(), func(l fuzz.Law) bool { return !slices.Contains(names, l.ID) })
}

func readCall(id int64, tool, arguments string, more ...string) script.Operation {
	params := `{"name":"` + tool + `","arguments":` + arguments + strings.Join(more, "") + `}`
	return script.Operation{
		Do: script.Send, Method: spec.MethodToolsCall, Await: true,
		Message: script.Message{ID: wire.IntID(id), Method: spec.MethodToolsCall, Params: []byte(params)}.Bytes(),
	}
}

// inOneWrite returns the operation as part of the same write as the next one.
func inOneWrite(o script.Operation) script.Operation {
	o.Together, o.Await = true, false
	return o
}

func cancelling(id int64) script.Operation {
	return script.Operation{
		Do: script.Send, Method: spec.MethodCancelled,
		Message: script.Message{Method: spec.MethodCancelled, Params: []byte(`{"requestId":` + wire.IntID(id).Raw() + `}`)}.Bytes(),
	}
}

// onCalls replaces the responses to calls of one tool; nil keeps a response as it is.
func onCalls(tool string, answer func(arguments string) (any, *refserver.Error)) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if name, _ := wire.Text(wire.At(c.Params, "/name")); c.Method == spec.MethodToolsCall && name == tool {
				if result, err := answer(string(wire.At(c.Params, "/arguments"))); result != nil || err != nil {
					return result, err
				}
			}
			return next(c)
		}}
	}
}

func content(text string, isError bool) any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": isError}
}

// withoutRoots keeps the server from requesting the roots, which it does after initialization and
// possibly during the first call.
func withoutRoots(seams func() refserver.Seams) func() refserver.Seams {
	return func() refserver.Seams {
		var s refserver.Seams
		if seams != nil {
			s = seams()
		}
		s.Outgoing = func(o *refserver.Out) {
			if o.Method == spec.MethodRootsList {
				o.Frames = nil
			}
		}
		return s
	}
}

// TestArguments checks that tools with obviously wrong argument handling are noted.
func TestArguments(t *testing.T) {
	x, y := `{"text":"x"}`, `{"text":"y"}`
	refusal := func(code spec.Code, message string) func() refserver.Seams {
		return onCalls("echo", func(string) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: code, Message: message}
		})
	}
	failing := func(text string) func() refserver.Seams {
		return onCalls("echo", func(string) (any, *refserver.Error) { return content(text, true), nil })
	}
	taking := func(tool string) func() refserver.Seams {
		return onCalls(tool, func(string) (any, *refserver.Error) { return content("as you wish", false), nil })
	}
	for name, c := range map[string]struct {
		seams  func() refserver.Seams
		script []script.Operation
		want   []string
	}{
		"taken":                    {nil, []script.Operation{readCall(2001, "echo", x)}, nil},
		"a tool that always fails": {nil, []script.Operation{readCall(2001, "fail", "{}"), readCall(2002, "fail", "{}")}, nil},
		"refused":                  {refusal(-32602, "Invalid arguments"), []script.Operation{readCall(2001, "echo", x)}, []string{refuses}},
		"refused by another code":  {refusal(-32603, "Internal error"), []script.Operation{readCall(2001, "echo", x)}, []string{refuses}},
		"no time":                  {refusal(-32000, "Too many requests"), []script.Operation{readCall(2001, "echo", x)}, nil},
		"as a task only":           {refusal(-32601, "Call it as a task"), []script.Operation{readCall(2001, "echo", x)}, nil},
		"the user is needed":       {refusal(-32042, "Open the URL"), []script.Operation{readCall(2001, "echo", x)}, nil},
		"gone":                     {refusal(-32602, "Unknown tool: echo"), []script.Operation{readCall(2001, "echo", x)}, nil},
		"said to be invalid":       {failing("Input validation error: x is not a string"), []script.Operation{readCall(2001, "echo", x)}, []string{denies}},
		"fails for another reason": {failing("There is no file x"), []script.Operation{readCall(2001, "echo", x), readCall(2002, "echo", y)}, nil},
		"with more than a call needs": {
			failing("Invalid arguments"), []script.Operation{readCall(2001, "echo", x, `,"_meta":{"example.com/x":1}`)}, nil,
		},
		"cancelled":        {failing("Invalid arguments"), []script.Operation{inOneWrite(readCall(2001, "echo", x)), cancelling(2001)}, nil},
		"an unlisted tool": {nil, []script.Operation{readCall(2001, "nobody", x)}, nil},

		"wrong, and refused":         {nil, []script.Operation{readCall(2001, "echo", `{}`), readCall(2002, "add", `{"a":"one","b":2}`)}, nil},
		"wrong, and taken":           {taking("echo"), []script.Operation{readCall(2001, "echo", `{}`)}, []string{takes}},
		"wrong in type, and taken":   {taking("add"), []script.Operation{readCall(2001, "add", `{"a":"one","b":2}`)}, []string{takes}},
		"converted":                  {taking("add"), []script.Operation{readCall(2001, "add", `{"a":"1","b":true}`)}, nil},
		"too much, and passed over":  {taking("echo"), []script.Operation{readCall(2001, "echo", `{"text":"x","more":1}`)}, nil},
		"wrong, and made to a task":  {taking("echo"), []script.Operation{readCall(2001, "echo", `{}`, `,"task":{}`)}, nil},
		"wrong, and failing anyway":  {nil, []script.Operation{readCall(2001, "slow", `{"durationMs":"long"}`)}, nil},
		"two of the same id, though": {taking("echo"), []script.Operation{readCall(2001, "echo", `{}`), readCall(2001, "echo", `{}`)}, []string{takes}},
	} {
		t.Run(name, func(t *testing.T) {
			d := inprocess.MisbehavingDialer(withoutRoots(c.seams))
			server, _, err := fuzz.Probe(t.Context(), d, spec.V20251125, inventory.Config{Policy: inventory.CallAll}, client.Options{})
			if err != nil || server == nil {
				t.Fatal("the server can't be asked", err)
			}
			p := script.Player{Dialer: d, Timeout: 5 * time.Second, Start: 20 * time.Second}
			o := &fuzz.Execution{Playback: p.Play(t.Context(), script.Script{Revision: spec.V20251125, Operations: c.script}), Offer: server.Offer}
			var got []string
			for _, s := range fuzz.Judge(lawsWithIDs("valid-arguments-accepted", "invalid-arguments-refused"), o) {
				if got = append(got, s.Summary); s.Outcome != verdict.Note {
					t.Errorf("%s is a %s", s.Summary, s.Outcome)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestArgumentsFaultless checks that a search finds no argument faults on a conforming server,
// although every tool is called, and that it finds them on a faulty one.
func TestArgumentsFaultless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		over  spec.Transport
		seams func() refserver.Seams
		want  string
	}{
		{name: "stdio", over: spec.Stdio},
		{name: "Streamable HTTP", over: spec.StreamableHTTP},
		{name: "refuses long texts", over: spec.Stdio, want: refuses, seams: onCalls("echo", func(arguments string) (any, *refserver.Error) {
			if len(arguments) > 20 {
				return nil, &refserver.Error{Code: -32602, Message: "Too long"}
			}
			return nil, nil
		})},
		{name: "takes all", over: spec.Stdio, want: takes, seams: onCalls("add", func(string) (any, *refserver.Error) {
			return content("about five", false), nil
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := refserver.Options{}
			if c.seams != nil {
				o.Seams = c.seams()
			}
			d, stop := suitetest.ReferenceOver(c.over, o)
			defer stop()
			options := fuzz.Options{
				Dialer: d, Laws: lawsWithIDs("valid-arguments-accepted", "invalid-arguments-refused"), Policy: inventory.Config{Policy: inventory.CallAll},
				Time: time.Second, Seed: 1, Shrink: fuzz.Budget{Time: time.Second, Attempts: 20},
			}
			if c.want != "" {
				options.Time = time.Minute
				options.StopAt = func(f *fuzz.Finding) bool { return f.Summary == c.want }
			}
			report, err := fuzz.Run(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(report.Findings, func(f *fuzz.Finding) bool { return f.Summary == c.want && f.Outcome == verdict.Note })
			if found != (c.want != "") || c.want == "" && len(report.Findings) > 0 {
				t.Errorf("in %d requests was found %q", report.Requests, describeFindings(report))
			}
		})
	}
}
