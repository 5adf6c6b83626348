package fuzz_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestEndOfServerIsAttributed checks that an end is attributed only to a message that may have
// caused it: not to lines that the server survived, and to none if there are several suspects.
func TestEndOfServerIsAttributed(t *testing.T) {
	deep := script.Operation{
		Do: script.Send, Method: spec.MethodPing, Message: script.Message{
			ID: wire.IntID(2001), Method: spec.MethodPing, Params: []byte(`{"_meta":{"example.com/value":` + nested(120) + `}}`),
		}.Bytes(),
	}
	garbage := script.Operation{Do: script.Raw, Message: []byte("}{\n"), Violates: "no JSON"}
	fence := script.Operation{Do: script.Fence}
	for name, c := range map[string]struct {
		fault  string
		script []script.Operation
		want   []string
	}{
		"the line":                       {"base.parse-error/exits-1", []script.Operation{garbage, fence}, []string{"base.parse-error"}},
		"the line, seen by no fence":     {"base.parse-error/exits-1", []script.Operation{fence, garbage}, []string{"base.parse-error"}},
		"the line, and it hears no more": {"base.parse-error/deaf", []script.Operation{garbage, fence}, []string{"base.parse-error"}},
		"a request after garbage":        {"base.request-answered/deep-meta", []script.Operation{garbage, deep}, nil},
		"a request after it":             {"base.request-answered/deep-meta", []script.Operation{garbage, fence, deep}, nil},
		"a request before it":            {"base.request-answered/deep-meta", []script.Operation{deep, garbage}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := lookUpFault(t, c.fault)
			p := script.Player{Dialer: inprocess.MisbehavingDialer(f.Seams), Timeout: time.Second, Start: 20 * time.Second}
			o := &fuzz.Execution{Playback: p.Play(t.Context(), script.Script{Revision: spec.V20251125, Operations: c.script})}
			var got []string
			for _, s := range fuzz.Judge(laws(), o) {
				if s.Law == "server-stays" {
					got = append(got, s.Requirement)
				}
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("blamed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequestOfServerShowsNoResponse checks that a request of the server does not count as the
// response to the client's request with the same id.
func TestRequestOfServerShowsNoResponse(t *testing.T) {
	record := transcript.New()
	for _, e := range []transcript.Event{
		{Kind: transcript.Sent, Raw: []byte("}{")},
		{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)},
		{Kind: transcript.Exited},
	} {
		record.Add(e)
	}
	o := &fuzz.Execution{Playback: &script.Playback{
		Script: script.Script{Revision: spec.V20251125}, Transport: spec.Stdio, Conversations: []*script.Conversation{{Events: record.From(0)}},
	}}
	got := fuzz.Judge(lawsWithIDs("server-stays"), o)
	if len(got) != 1 || got[0].Requirement != "base.parse-error" {
		t.Errorf("got %v, want a breach of base.parse-error", got)
	}
}

func nested(n int) string {
	out := make([]byte, 0, 2*n)
	for range n {
		out = append(out, '[')
	}
	for range n {
		out = append(out, ']')
	}
	return string(out)
}
