package script

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// sample returns a replay file with an operation of each kind.
func sample() *File {
	return &File{
		Version: FileVersion, Transport: spec.Stdio, Seed: 7, Reproduced: [2]int{3, 3}, OwnMessages: []string{"after operation 1: the client cancelled ping"},
		Expect: Expected{Law: "rules", Requirement: "base.response-once", Summary: "The server answers a request more than once.", Method: "ping", Outcome: "broken"},
		Script: Script{Revision: spec.V20250618, Tools: []string{"echo"}, Operations: []Operation{
			{Do: Send, Method: "ping", Message: Bytes(`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`), Await: true},
			{Do: Send, Method: "tools/list", Message: Bytes(`{ "id":2, "id":2 }`), Together: true, On: 1},
			{Do: Raw, Message: Bytes("\xff\n"), Splits: []int{1}, Violates: "bytes that are not UTF-8"},
			{Do: Answer, Method: "roots/list", Reply: &Reply{Code: -1}},
			{Do: Walk, Method: "tools/list"},
			{Do: HTTP, Exchange: &Exchange{Method: "PUT", Headers: [][2]string{{"A", "b"}}, Body: Bytes("x"), Why: "a method"}},
			{Do: Send, Take: []Take{{ID: Bytes("1000"), From: "/result/x", Into: "cursor"}}, Message: Bytes("{}")},
			{Do: Close},
		}},
	}
}

func TestReplayFileRoundTrip(t *testing.T) {
	want := sample()
	got, err := ReadFile(want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}

func TestReplayFilesAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(r *File){
		"another version":        func(r *File) { r.Version = 2 },
		"no revision":            func(r *File) { r.Script.Revision = "" },
		"a draft":                func(r *File) { r.Script.Revision = "2027-01-01" },
		"an unknown transport":   func(r *File) { r.Transport = "pigeon" },
		"no requirement":         func(r *File) { r.Expect.Requirement = "no.such" },
		"no operations":          func(r *File) { r.Script.Operations = nil },
		"an unknown action":      func(r *File) { r.Script.Operations[0].Do = "jump" },
		"too many":               func(r *File) { r.Script.Operations[0].On = 1 << 30 },
		"less than none":         func(r *File) { r.Script.Operations[0].On = -1 },
		"no exchange":            func(r *File) { r.Script.Operations[5].Exchange = nil },
		"nothing to cancel":      func(r *File) { r.Script.Operations[0].Do = Cancel },
		"a message of two lines": func(r *File) { r.Script.Operations[0].Message = Bytes("{}\n{}") },
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			spoil(r)
			if _, err := ReadFile(r.Encode()); err == nil {
				t.Error("the file was accepted")
			}
		})
	}
}

// TestMalformedReplayFiles checks that the errors do not mention the
// Go types of this program.
func TestMalformedReplayFiles(t *testing.T) {
	for data, want := range map[string]string{
		"":                                "it is not a replay file: it is empty",
		"{":                               "it is not a replay file: it ends in the middle",
		"{}":                              "it is not a replay file: it has no mcp-conform-replay, which says the version",
		"[]":                              "it is not a replay file: it holds an array, not an object",
		"true":                            "it is not a replay file: it holds true or false, not an object",
		`{"mcp-conform-replay":2}`:        "it has version 2; this program reads version 1",
		`{"script":{"operations":"all"}}`: "it is not a replay file: script.operations can't be a string",
		`{"no-such":1}`:                   `it is not a replay file: unknown field "no-such"`,
	} {
		if _, err := ReadFile([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
}

// FuzzReadFile checks that any file is either read or rejected, and that what
// was read can be written and read again.
func FuzzReadFile(f *testing.F) {
	f.Add(sample().Encode())
	for _, seed := range []string{"", "{}", "[]", `{"mcp-conform-replay":1}`, `{"mcp-conform-replay":1,"script":{"operations":[{"do":"send","message":"base64:!"}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadFile(data)
		if err != nil {
			return
		}
		once := r.Encode()
		again, err := ReadFile(once)
		if err != nil || !bytes.Equal(again.Encode(), once) {
			t.Fatalf("%s was read differently: %v", once, err)
		}
	})
}
