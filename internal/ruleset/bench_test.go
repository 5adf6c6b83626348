package ruleset_test

import (
	"bytes"
	"path"
	"testing"

	"github.com/mcp-conform/mcp-conform/fixtures"
	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/cputime"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// BenchmarkJudge judges recorded sessions by all rules: sessions of a run on real servers, and
// long ones with the reference server in both eras. The case "judged" judges events that are
// already read, as a run does; "read and judged" reads a transcript file first, as mcp-conform
// judge does. Both count the messages of both sides for each second of CPU time.
func BenchmarkJudge(b *testing.B) {
	for _, file := range []string{"everything-2025-11-25-shared", "go-sdk-2025-11-25-shared", "everything-http-2025-11-25"} {
		data, err := fixtures.Transcripts.ReadFile(path.Join("transcripts/recorded", file+".jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(file, func(b *testing.B) { judge(b, data) })
	}
	for _, s := range []struct {
		over     spec.Transport
		revision spec.Revision
	}{
		{spec.Stdio, spec.V20251125},
		{spec.StreamableHTTP, spec.V20251125},
		{spec.Stdio, spec.V20260728},
		{spec.StreamableHTTP, spec.V20260728},
	} {
		b.Run("long-"+string(s.over)+"-"+string(s.revision), func(b *testing.B) { judge(b, longSession(b, s.over, s.revision)) })
	}
}

// judge measures how fast a transcript file is judged.
func judge(b *testing.B, file []byte) {
	all := ruleset.All()
	read := func(b *testing.B) *transcript.Recording {
		sessions, err := transcript.ReadRecordings("session.jsonl", bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		return sessions[0]
	}
	session, messages := read(b), 0
	for range transcript.Messages(session.Events) {
		messages++
	}
	for _, c := range []struct {
		name    string
		session func(b *testing.B) *transcript.Recording
	}{
		{"judged", func(*testing.B) *transcript.Recording { return session }},
		{"read and judged", read},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			before := cputime.Used()
			for b.Loop() {
				s := c.session(b)
				if len(rules.Judge(all, s.Events, spec.Revision(s.Revision), spec.Transport(s.Transport))) == 0 {
					b.Fatal("nothing was judged")
				}
			}
			b.ReportMetric(float64(b.N*messages)/(cputime.Used()-before).Seconds(), "messages/cpu-s")
		})
	}
}

// longSession returns the transcript file of a session with many requests to the reference server.
func longSession(b *testing.B, over spec.Transport, revision spec.Revision) []byte {
	const rounds = 200
	d, stop := suitetest.ReferenceOver(over, refserver.Options{})
	defer stop()
	c, err := client.Open(b.Context(), d, client.Options{Revision: revision})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Handshake(b.Context()); err != nil {
		b.Fatal(err)
	}
	for range rounds {
		for _, r := range []struct {
			method string
			params map[string]any
		}{
			{spec.MethodToolsList, nil},
			{spec.MethodToolsCall, map[string]any{"name": "echo", "arguments": map[string]any{"text": "a line of text"}}},
			{spec.MethodToolsCall, map[string]any{"name": "no such tool"}},
			{spec.MethodResourcesList, nil},
			{spec.MethodResourcesRead, map[string]any{"uri": "demo://text/hello"}},
			{spec.MethodPromptsList, nil},
		} {
			if r := c.Do(b.Context(), r.method, r.params); r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
	c.Close()
	var file bytes.Buffer
	err = transcript.WriteRecording(&file, &transcript.Recording{Transport: string(over), Revision: string(revision), Events: c.Record.From(0)})
	if err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}
