// Package agent is an MCP server for agents: its tools judge MCP servers, explain requirements and
// compare reports. Each tool starts this program again as a child process, and returns a part of
// the child's report or output. The child starts or reaches only servers that the command line
// allowed.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Server is a server that the tools may start or reach.
type Server struct {
	Name string   // its name in the parameters of the tools
	Args []string // the arguments with which mcp-conform run reaches it
}

// Options configure the MCP server.
type Options struct {
	Program string   // the path of this program
	Version string   // its version
	Environ []string // the environment of its child processes
	Servers []Server // all that the tools may start or reach
	Reports string   // the folder for reports; it is created with the first report
	In      io.Reader
	Out     io.Writer
}

// revisions are the revisions that this server speaks. The older ones permit batches, which the SDK
// supports only in part, so they are left out.
var revisions = []string{"2025-11-25", "2025-06-18"}

const instructions = `These tools judge whether an MCP server keeps the protocol. Call run with the name of a
server that the user allowed, fix the findings in its code, then call replay for each finding, or
run again. explain says what a requirement means and how to fix it. No tool takes a command.`

// Serve serves MCP until the input ends or the context is done, and then waits until the child
// processes have ended their servers. An end of either kind is not an error.
func Serve(ctx context.Context, o Options) error {
	session, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &tools{Options: o, session: session, slot: make(chan struct{}, 1), reports: map[string]string{}}
	end := func() {
		t.mu.Lock() // so that no tool begins to judge a server from here on
		defer t.mu.Unlock()
		cancel()
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "mcp-conform", Title: "mcp-conform", Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{ListChanged: true},
		},
		SupportedProtocolVersions: revisions,
	})
	s.AddReceivingMiddleware(t.rejectInvalidRequests)
	t.server = s
	if err := t.register(); err != nil {
		return err
	}
	t.offerOldReports()
	err := s.Run(ctx, &lineTransport{in: o.In, out: o.Out, end: end})
	end()
	t.running.Wait() // until the child processes have ended their servers
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// tools are the tools of a session, and the reports that they wrote.
type tools struct {
	Options
	session context.Context // done when the client's input has ended
	server  *mcp.Server
	slot    chan struct{}  // one server is judged at a time
	running sync.WaitGroup // counts the call that has the slot

	mu      sync.Mutex        // guards reports, and additions to running
	reports map[string]string // the paths of the reports by id
}

// allowedServer returns the server with a name, or an error that lists the names.
func (t *tools) allowedServer(name string) (Server, error) {
	for _, s := range t.Servers {
		if s.Name == name {
			return s, nil
		}
	}
	if len(t.Servers) == 0 {
		return Server{}, errors.New("no server is allowed: the user can allow one with mcp-conform mcp --allow 'COMMAND ARGUMENTS'")
	}
	return Server{}, fmt.Errorf("the server %q is not allowed; allowed are %s", name, strings.Join(t.names(), ", "))
}

func (t *tools) names() []string {
	var out []string
	for _, s := range t.Servers {
		out = append(out, s.Name)
	}
	return out
}

// register adds the tools and the prompt.
func (t *tools) register() error {
	no, yes := false, true
	reads := func(title string) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
	}
	runs := func(title string) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, DestructiveHint: &no, OpenWorldHint: &yes}
	}
	err := errors.Join(
		add(t, "run", "Judges a server and returns what it breaks, each finding with its fix. Takes about a minute, with quick some seconds.", runs("Judge a server"), t.run),
		add(t, "replay", "Judges again the one requirement of a finding from an earlier run, and returns whether it is fixed.", runs("Check whether a finding is fixed"), t.replay),
		add(t, "fuzz", "Searches a server for bugs with random sequences of messages, for up to 120 seconds.", runs("Search for bugs"), t.fuzz),
		add(t, "explain", "Explains a requirement, a case, a rule or a profile: what it says, why it matters, the usual cause and fix.", reads("Explain a requirement"), t.explain),
		add(t, "list", "Lists requirements, cases, rules, faults or profiles, all of them or those whose id or title contains a text.", reads("List requirements"), t.list),
		add(t, "diff", "Compares two reports on the same server: what is new, fixed, unchanged.", reads("Compare two reports"), t.diff),
	)
	t.server.AddPrompt(&mcp.Prompt{
		Name: "make-this-server-conform", Title: "Make this server conform",
		Description: "Judge a server, fix what it breaks, and show that it is fixed",
		Arguments:   []*mcp.PromptArgument{{Name: "server", Description: "the server, by the name that the tools use", Required: true}},
	}, t.prompt)
	return err
}

// add adds a tool. If the tool has a parameter called server, add permits only the names of
// allowed servers as its value.
func add[In, Out any](t *tools, name, description string, a *mcp.ToolAnnotations, handle func(context.Context, *mcp.CallToolRequest, In) (Out, error)) error {
	in, err := jsonschema.For[In](nil)
	if err != nil {
		return fmt.Errorf("the input schema of %s: %w", name, err)
	}
	out, err := jsonschema.For[Out](nil)
	if err != nil {
		return fmt.Errorf("the output schema of %s: %w", name, err)
	}
	removeNullTypes(in)
	removeNullTypes(out)
	if p := in.Properties["server"]; p != nil && len(t.Servers) > 0 {
		for _, n := range t.names() {
			p.Enum = append(p.Enum, n)
		}
	}
	tool := &mcp.Tool{Name: name, Title: a.Title, Description: description, Annotations: a, InputSchema: in, OutputSchema: out}
	mcp.AddTool(t.server, tool, func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := handle(ctx, r, in)
		return nil, out, err
	})
	return nil
}

// removeNullTypes changes the type of the lists in the schema to array. Package jsonschema infers
// the type array or null, which some clients can't read.
func removeNullTypes(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	removeNullTypes(s.Items)
	for _, p := range s.Properties {
		removeNullTypes(p)
	}
}

// prompt returns the steps with which an agent makes a server conform.
func (t *tools) prompt(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	s, err := t.allowedServer(r.Params.Arguments["server"])
	if err != nil {
		return nil, invalidParams(err)
	}
	text := strings.ReplaceAll(`Make the MCP server "NAME" conform to the protocol.

1. Call run with server "NAME".
2. Take the findings in order, the most severe first. Read requirement, permitted, seen, evidence and fix;
   call explain with the requirement if they do not suffice. Findings with the same group have one cause.
3. Fix the cause in the server's code. Do not change what the server does otherwise, and do not special-case the test.
4. If the server has to be built, build it. Call replay with the report and the finding, until it is fixed.
5. When all findings are fixed, call run again, and diff with both reports: nothing may be new.
6. Report what you changed, and what you left and why. A finding with an sdk is caused by the server's SDK:
   say so, and suggest to update the SDK, instead of working around it.
`, "NAME", s.Name)
	return &mcp.GetPromptResult{
		Description: "Judge " + s.Name + ", fix what it breaks, and show that it is fixed",
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}, nil
}

// truncateList returns the first elements of the list, at most n, and how many are left out. The
// returned list is never nil.
func truncateList[T any](list []T, n int) ([]T, int) {
	n = min(n, len(list))
	return append([]T{}, list[:n]...), len(list) - n
}
