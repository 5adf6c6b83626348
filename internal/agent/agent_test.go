package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-conform/mcp-conform/internal/cli"
	"github.com/mcp-conform/mcp-conform/internal/skip"
)

// asProgram is the variable that makes this test's executable the program.
const asProgram = "MCP_CONFORM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.SystemWorld()))
	}
	os.Exit(m.Run())
}

// session starts mcp-conform mcp, and connects a client of the SDK to it. SELF in an argument
// becomes the path of the program.
func session(t *testing.T, o *mcp.ClientOptions, args ...string) *mcp.ClientSession {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "SELF", "'"+self+"'")
	}
	if !slices.Contains(args, "--out") {
		args = append(args, "--out", t.TempDir())
	}
	c := exec.Command(self, append([]string{"mcp"}, args...)...)
	c.Env, c.Stderr = append(os.Environ(), asProgram+"=1"), os.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// result is what the tools return, as far as the tests read it.
type result struct {
	Report   string
	URI      string
	Conforms bool
	Fixed    *bool
	Verdict  string
	Worse    *bool
	Summary  string
	Text     string
	Found    bool
	Output   string
	Files    []string
	Entries  []struct{ ID, Title string }
	Findings []struct {
		ID, Requirement, Verdict, Permitted, Seen, Fix, Replay string
		Revisions                                              []string
	}
}

func call(ctx context.Context, t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (result, string) {
	t.Helper()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError {
		return result{}, r.Content[0].(*mcp.TextContent).Text
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var out result
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, raw)
	}
	return out, ""
}

// only has the arguments of a run that judges one requirement, so that it takes only a moment.
var only = map[string]any{"server": "ref", "focus": []string{"ping.responds"}, "revisions": []string{"2025-11-25"}}

const faulty = "ref=SELF serve --fault ping.responds/unknown"

func TestToolsAreDescribed(t *testing.T) {
	t.Parallel()
	s := session(t, nil, "--allow", faulty, "--allow-url", "http://127.0.0.1:9/mcp")
	listed, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{}
	for _, tool := range listed.Tools {
		readOnly[tool.Name] = tool.Annotations.ReadOnlyHint
		if tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil {
			t.Errorf("%s lacks a title, a description or an output schema", tool.Name)
		}
		in, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(in)+string(out), `"null"`) {
			t.Errorf("%s has a type that may be null: %s, %s", tool.Name, in, out)
		}
		for _, word := range []string{"command", "path", "url"} {
			if strings.Contains(string(in), `"`+word+`"`) {
				t.Errorf("%s takes a %s: %s", tool.Name, word, in)
			}
		}
		if takes := strings.Contains(string(in), `"server"`); takes && !strings.Contains(string(in), `"enum":["ref","127.0.0.1"]`) {
			t.Errorf("%s does not name the allowed servers: %s", tool.Name, in)
		}
	}
	want := map[string]bool{"run": false, "replay": false, "fuzz": false, "explain": true, "list": true, "diff": true}
	if diff := cmp.Diff(want, readOnly); diff != "" {
		t.Errorf("readOnlyHint (-want +got):\n%s", diff)
	}
}

// TestAFindingIsFixed judges a server that misbehaves, and in a second session the same
// server without its fault.
func TestAFindingIsFixed(t *testing.T) {
	skip.Slow(t)
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "[reports]")
	s := session(t, nil, "--out", folder, "--allow", faulty)
	before, wrong := call(t.Context(), t, s, "run", map[string]any{"server": "ref", "focus": only["focus"]})
	if wrong != "" || before.Conforms || len(before.Findings) == 0 {
		t.Fatalf("run: %q, %+v", wrong, before)
	}
	f := before.Findings[0]
	if diff := cmp.Diff([]string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}, f.Revisions); diff != "" {
		t.Errorf("the revisions of the finding (-want +got):\n%s", diff)
	}
	if f.Requirement != "ping.responds" || f.Verdict != "broken" || f.Permitted == "" || f.Seen == "" || f.Fix == "" || !strings.HasPrefix(f.Replay, "mcp-conform run ") {
		t.Errorf("the finding is %+v", f)
	}
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: before.URI})
	if err != nil || !strings.Contains(read.Contents[0].Text, `"tool": "mcp-conform"`) {
		t.Errorf("the report: %v, %+v", err, read)
	}
	again := map[string]any{"report": before.Report, "finding": f.ID}
	if r, wrong := call(t.Context(), t, s, "replay", again); wrong != "" || r.Fixed == nil || *r.Fixed || r.Verdict != "broken" {
		t.Errorf("replay of the same server: %q, %+v", wrong, r)
	}

	if err := os.WriteFile(filepath.Join(folder, "ref-other-1.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = session(t, nil, "--out", folder, "--allow", "ref=SELF serve")
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "report://ref-other-1"}); err == nil {
		t.Error("a report on a server that is not allowed is offered")
	}
	r, wrong := call(t.Context(), t, s, "replay", again)
	if wrong != "" || r.Fixed == nil || !*r.Fixed || r.Verdict != "kept" {
		t.Errorf("replay of the correct server: %q, %+v", wrong, r)
	}
	d, wrong := call(t.Context(), t, s, "diff", map[string]any{"old": before.Report, "new": r.Report})
	if wrong != "" || d.Worse == nil || *d.Worse || !strings.HasPrefix(d.Summary, "0 new, 1 fixed") {
		t.Errorf("diff: %q, %+v", wrong, d)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s, bare := session(t, nil, "--allow", faulty), session(t, nil)
	for _, one := range []struct {
		session *mcp.ClientSession
		tool    string
		args    map[string]any
		want    string
	}{
		{s, "run", map[string]any{"server": "rm -rf /"}, "ref"},
		{s, "run", map[string]any{"server": "ref", "command": "true"}, "command"},
		{s, "fuzz", map[string]any{"server": "other"}, "ref"},
		{s, "fuzz", map[string]any{"server": "ref", "seconds": 121}, "give 1 to 120"},
		{s, "run", map[string]any{"server": "ref", "focus": []string{"no.such"}}, "matches no requirement"},
		{s, "run", map[string]any{"server": "ref", "focus": []string{"--help"}}, "--focus"},
		{s, "run", map[string]any{"server": "ref", "focus": []string{"a\x00b"}}, "a parameter of the call has the character U+0000"},
		{s, "replay", map[string]any{"report": "../../etc/passwd", "finding": "F1"}, "no report"},
		{s, "diff", map[string]any{"old": "ref-1", "new": "ref-2"}, "no report"},
		{s, "explain", map[string]any{"id": "--help"}, "no requirement"},
		{s, "list", map[string]any{"what": "secrets"}, "can be listed"},
		{bare, "run", map[string]any{"server": "ref"}, "no server is allowed"},
	} {
		if _, wrong := call(t.Context(), t, one.session, one.tool, one.args); !strings.Contains(wrong, one.want) {
			t.Errorf("%s %v: %q does not contain %q", one.tool, one.args, wrong, one.want)
		}
	}
	if _, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "make-this-server-conform", Arguments: map[string]string{"server": "other"}}); err == nil {
		t.Error("the prompt takes a server that is not allowed")
	}
}

func TestReading(t *testing.T) {
	t.Parallel()
	s := session(t, nil, "--allow", faulty)
	if r, wrong := call(t.Context(), t, s, "explain", map[string]any{"id": "ping.responds"}); !strings.Contains(r.Text, "level") {
		t.Errorf("explain: %q, %+v", wrong, r)
	}
	for what, want := range map[string]string{"": "ping.responds", "cases": "ping.shapes", "faults": "ping.responds/unknown", "profiles": "core@1"} {
		args := map[string]any{"what": what}
		if what != "profiles" {
			args["text"] = "ping."
		}
		r, wrong := call(t.Context(), t, s, "list", args)
		if !slices.ContainsFunc(r.Entries, func(e struct{ ID, Title string }) bool { return e.ID == want && e.Title != "" }) {
			t.Errorf("list %q: %q, %+v lacks %s", what, wrong, r.Entries, want)
		}
	}
	p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "make-this-server-conform", Arguments: map[string]string{"server": "ref"}})
	if err != nil || !strings.Contains(p.Messages[0].Content.(*mcp.TextContent).Text, `with server "ref"`) {
		t.Errorf("the prompt: %v, %+v", err, p)
	}
}

func TestFuzz(t *testing.T) {
	skip.Slow(t)
	t.Parallel()
	s := session(t, nil, "--allow", faulty)
	r, wrong := call(t.Context(), t, s, "fuzz", map[string]any{"server": "ref", "seconds": 1})
	if wrong != "" || !r.Found || !strings.Contains(r.Output, "ping.responds") || len(r.Files) == 0 {
		t.Fatalf("fuzz: %q, %+v", wrong, r)
	}
	if _, err := os.Stat(r.Files[0]); err != nil {
		t.Error(err)
	}
}

func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	const secret = "sk-live-4fT9qLw2ZxVb71Kd"
	s := session(t, nil, "--allow", "ref=SELF serve --api-key "+secret)
	_, wrong := call(t.Context(), t, s, "run", only)
	if !strings.Contains(wrong, "--api-key") || strings.Contains(wrong, secret) {
		t.Errorf("a server that does not start: %q", wrong)
	}
}

// TestCancellation cancels a run after its child process has begun to judge. The next run can only
// begin after that process has written its report and ended.
func TestCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := session(t, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if strings.HasPrefix(r.Params.Message, "judging mcp-conform-reference-server") {
				cancel()
			}
		},
	}, "--allow", faulty)
	p := &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"server": "ref"}}
	p.SetProgressToken("progress")
	if r, err := s.CallTool(ctx, p); err == nil {
		t.Fatalf("the call was not cancelled: %+v", r)
	}
	r, wrong := call(t.Context(), t, s, "run", only)
	if wrong != "" || len(r.Findings) == 0 {
		t.Errorf("the run after: %q, %+v", wrong, r)
	}
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "report://ref-1"})
	if err != nil || !strings.Contains(read.Contents[0].Text, `"incomplete": "interrupted`) {
		t.Errorf("the report of the cancelled run: %v, %+v", err, read)
	}
}
