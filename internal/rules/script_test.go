package rules_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// play turns a script into the events of a conversation. Its lines are:
//
//	> TEXT           a frame of the client
//	< TEXT           a line of the server
//	<| TEXT          the last piece of the server's output, without a newline
//	= hello          the handshake in the script's revision
//	= fence ID       a ping with that id, and its answer
//	? gave-up ID     the client waits no longer for the newest request with that id
//	x close-input    the client closes stdin
//	x signal TERM    the client sends a signal
//	! exit CODE      the server closes stdout and ends
//	! flood TEXT     the server floods stdout; its head is TEXT
//	! cut TEXT       a line of which only the head TEXT was kept
//	@ 2s             what follows happens at that time
//	# TEXT           a comment
func play(t *testing.T, r spec.Revision, script string) []*transcript.Event {
	t.Helper()
	var events []*transcript.Event
	var now time.Duration
	add := func(e transcript.Event) {
		e.Seq, e.At = len(events), now
		if e.Size == 0 {
			e.Size = int64(len(e.Raw))
		}
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			e.Frame = wire.Parse(e.Raw)
		}
		events = append(events, &e)
	}
	sent := func(text string) { add(transcript.Event{Kind: transcript.Sent, Raw: []byte(text)}) }
	received := func(text string) { add(transcript.Event{Kind: transcript.Received, Raw: []byte(text)}) }
	add(transcript.Event{Kind: transcript.Opened})
	for _, line := range strings.Split(strings.Trim(script, "\n"), "\n") {
		line = strings.TrimLeft(line, "\t")
		word, rest, _ := strings.Cut(line, " ")
		what, arg, _ := strings.Cut(rest, " ")
		switch word {
		case "", "#":
		case ">":
			sent(rest)
		case "<":
			received(rest)
		case "<|":
			add(transcript.Event{Kind: transcript.Received, Raw: []byte(rest), Unterminated: true})
		case "@":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			now = d
		case "?":
			of := slices.IndexFunc(events, func(e *transcript.Event) bool {
				return e.Kind == transcript.Sent && len(e.Messages()) > 0 && e.Messages()[0].ID.Raw() == arg
			})
			if what != "gave-up" || of < 0 {
				t.Fatalf("no request for %q", line)
			}
			add(transcript.Event{Kind: transcript.GaveUp, Of: of})
		case "=":
			switch what {
			case "hello":
				sent(hello(r))
				received(welcome(r))
				sent(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			case "fence":
				sent(`{"jsonrpc":"2.0","id":` + arg + `,"method":"ping"}`)
				received(`{"jsonrpc":"2.0","id":` + arg + `,"result":{}}`)
			default:
				t.Fatalf("unknown macro %q", line)
			}
		case "x":
			switch what {
			case "close-input":
				add(transcript.Event{Kind: transcript.InputClosed})
			case "signal":
				add(transcript.Event{Kind: transcript.Signalled, Detail: arg})
			default:
				t.Fatalf("unknown line %q", line)
			}
		case "!":
			switch what {
			case "exit":
				code, err := strconv.Atoi(arg)
				if err != nil {
					t.Fatal(err)
				}
				add(transcript.Event{Kind: transcript.OutputClosed})
				add(transcript.Event{Kind: transcript.Exited, ExitCode: code, Detail: "exit status " + arg})
			case "flood":
				add(transcript.Event{Kind: transcript.Flooded, Raw: []byte(arg), Detail: "more than 9 bytes without a newline", Size: 10})
			case "cut":
				add(transcript.Event{Kind: transcript.Received, Raw: []byte(arg), Size: 1 << 24})
			default:
				t.Fatalf("unknown line %q", line)
			}
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return events
}

func hello(r spec.Revision) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":%q,"capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`, r)
}

func welcome(r spec.Revision) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`, r)
}

// scene is a script and all that every rule together says of it.
type scene struct {
	name     string
	revision spec.Revision // 2025-11-25 where empty
	script   string
	want     []string // "requirement outcome", sorted
}

func (s scene) rev() spec.Revision {
	if s.revision == "" {
		return spec.V20251125
	}
	return s.revision
}

func run(t *testing.T, scenes []scene) {
	t.Helper()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			events := play(t, s.rev(), s.script)
			results := rules.Judge(rules.Base(), events, s.rev(), spec.Stdio)
			if diff := cmp.Diff(s.want, said(results)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			for _, r := range results {
				for _, d := range r.Deviations {
					check(t, d.Summary, d.Permitted, d.Seen, d.At, len(events))
				}
			}
		})
	}
}

// check holds what every deviation must have.
func check(t *testing.T, summary, permitted, seen string, at []int, events int) {
	t.Helper()
	if !strings.HasSuffix(summary, ".") || permitted == "" || seen == "" {
		t.Errorf("a deviation is not told in full: summary %q, permitted %q, seen %q", summary, permitted, seen)
	}
	if len(at) == 0 || !slices.IsSorted(at) || at[len(at)-1] >= events || at[0] < 0 {
		t.Errorf("%s: positions %v of %d events", summary, at, events)
	}
}

// said returns the findings, one for all deviations with the same summary.
func said(results []rules.Result) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range results {
		q := spec.Requirements().Lookup(r.Requirement)
		for _, d := range r.Deviations {
			key := r.Requirement + d.Summary
			if !seen[key] {
				seen[key] = true
				out = append(out, r.Requirement+" "+d.Outcome(q, r.Revision).String())
			}
		}
	}
	slices.Sort(out)
	return out
}

// subjects returns how often each requirement came up.
func subjects(results []rules.Result) map[string]int {
	out := map[string]int{}
	for _, r := range results {
		out[r.Requirement] += r.Subjects
	}
	return out
}
