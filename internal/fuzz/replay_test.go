package fuzz

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// sample is a replay file with an operation of each sort.
func sample() *Replay {
	return &Replay{
		Version: replayVersion, Transport: spec.Stdio, Seed: 7, Reproduced: [2]int{3, 3},
		Expect: Expected{Law: "rules", Requirement: "base.response-once", Summary: "A request is answered more than once.", Method: "ping", Outcome: "broken"},
		Script: generate.Script{Revision: spec.V20250618, Tools: []string{"echo"}, Operations: []generate.Operation{
			{Do: generate.Send, Method: "ping", Message: generate.Bytes(`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`), Await: true},
			{Do: generate.Send, Method: "tools/list", Message: generate.Bytes(`{ "id":2, "id":2 }`), Together: true, On: 1},
			{Do: generate.Raw, Message: generate.Bytes("\xff\n"), Splits: []int{1}, Violates: "bytes that are no UTF-8"},
			{Do: generate.Answer, Method: "roots/list", Reply: &generate.Reply{Code: -1}},
			{Do: generate.Walk, Method: "tools/list"},
			{Do: generate.HTTP, Exchange: &generate.Exchange{Method: "PUT", Headers: [][2]string{{"A", "b"}}, Body: generate.Bytes("x"), Why: "a method"}},
			{Do: generate.Send, Take: []generate.Take{{ID: generate.Bytes("1000"), From: "/result/x", Into: "cursor"}}, Message: generate.Bytes("{}")},
			{Do: generate.Close},
		}},
	}
}

func TestReplayFilesComeBack(t *testing.T) {
	want := sample()
	got, err := ReadReplay(want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}

func TestReplayFilesAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(r *Replay){
		"another version":        func(r *Replay) { r.Version = 2 },
		"no revision":            func(r *Replay) { r.Script.Revision = "" },
		"the stateless era":      func(r *Replay) { r.Script.Revision = spec.V20260728 },
		"an unknown transport":   func(r *Replay) { r.Transport = "pigeon" },
		"no requirement":         func(r *Replay) { r.Expect.Requirement = "no.such" },
		"no operations":          func(r *Replay) { r.Script.Operations = nil },
		"an unknown deed":        func(r *Replay) { r.Script.Operations[0].Do = "jump" },
		"too many":               func(r *Replay) { r.Script.Operations[0].On = 1 << 30 },
		"less than none":         func(r *Replay) { r.Script.Operations[0].On = -1 },
		"no exchange":            func(r *Replay) { r.Script.Operations[5].Exchange = nil },
		"a message of two lines": func(r *Replay) { r.Script.Operations[0].Message = generate.Bytes("{}\n{}") },
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			spoil(r)
			if _, err := ReadReplay(r.Encode()); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

// TestWhatIsNoReplayFileIsToldInWords: without the types of this program.
func TestWhatIsNoReplayFileIsToldInWords(t *testing.T) {
	for data, want := range map[string]string{
		"":                                "it is no replay file: it is empty",
		"{":                               "it is no replay file: it ends in the middle",
		"{}":                              "it is no replay file: it has no mcp-conform-replay, which says the version",
		"[]":                              "it is no replay file: it holds an array, and no object",
		"true":                            "it is no replay file: it holds true or false, and no object",
		`{"mcp-conform-replay":2}`:        "it is of version 2; this program reads version 1",
		`{"script":{"operations":"all"}}`: "it is no replay file: script.operations can't be a string",
		`{"no-such":1}`:                   `it is no replay file: unknown field "no-such"`,
	} {
		if _, err := ReadReplay([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
}

// FuzzReadReplay: whatever a file holds, it is read or refused, and what was
// read can be written and read again.
func FuzzReadReplay(f *testing.F) {
	f.Add(sample().Encode())
	for _, seed := range []string{"", "{}", "[]", `{"mcp-conform-replay":1}`, `{"mcp-conform-replay":1,"script":{"operations":[{"do":"send","message":"base64:!"}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadReplay(data)
		if err != nil {
			return
		}
		once := r.Encode()
		again, err := ReadReplay(once)
		if err != nil || !bytes.Equal(again.Encode(), once) {
			t.Fatalf("%s came back otherwise: %v", once, err)
		}
	})
}

// TestShrink: of a long sequence only what matters is left, in its shortest
// form, and the budget is kept.
func TestShrink(t *testing.T) {
	var s generate.Script
	s.Revision = spec.V20251125
	for i := range 200 {
		o := generate.Operation{Do: generate.Send, On: i % 3, Method: "ping", Await: i%2 == 0, Message: generate.Bytes(`{"jsonrpc":"2.0","id":1001,"method":"ping"}`)}
		switch i {
		case 50:
			o.Method = "a"
		case 120:
			o.Method, o.Message = "b", generate.Bytes(`{ "id":1002, "jsonrpc":"2.0", "params":{"x":[1,2,"needle in a haystack"],"y":"z"}, "method":"b" }`)
		}
		s.Operations = append(s.Operations, o)
	}
	shows := func(s generate.Script) bool {
		a := slices.IndexFunc(s.Operations, func(o generate.Operation) bool { return o.Method == "a" })
		return a >= 0 && slices.ContainsFunc(s.Operations[a:], func(o generate.Operation) bool {
			return o.Method == "b" && bytes.Contains(o.Message, []byte("needle"))
		})
	}
	got, tries, _ := Shrink(t.Context(), s, []int{120}, Budget{Time: 1 << 40, Tries: 2000}, shows)
	if tries > 2000 || len(got.Operations) != 2 || got.Conversations() != 1 {
		t.Fatalf("after %d tries: %+v", tries, got)
	}
	if size := len(got.Operations[1].Message); size > 70 || got.Operations[0].Await {
		t.Errorf("the message has %d bytes: %s", size, got.Operations[1].Message)
	}
	if _, tries, _ := Shrink(t.Context(), s, nil, Budget{Time: 1 << 40, Tries: 5}, shows); tries != 5 {
		t.Errorf("%d tries with a budget of 5", tries)
	}
}
