package fuzz

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// slowServer is a server with a tool that takes longer than a search waits for it.
// The tool returns the given answer, and stops when it is cancelled.
func slowServer(takes time.Duration, answer string) stdio.Serve {
	return func(ctx context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		var mu sync.Mutex
		write := func(id wire.ID, result string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id.Raw(), result)
		}
		stops := map[string]context.CancelFunc{}
		var calls sync.WaitGroup
		defer calls.Wait()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			for _, m := range wire.Parse(lines.Bytes()).Messages {
				switch m.Method {
				case spec.MethodInitialize:
					write(m.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}`, spec.V20250618))
				case spec.MethodToolsList:
					write(m.ID, `{"tools":[{"name":"work","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
				case spec.MethodPing:
					write(m.ID, `{}`)
				case spec.MethodCancelled:
					if stop := stops[m.ParamIDAt("/requestId").Key()]; stop != nil {
						stop()
					}
				case spec.MethodToolsCall:
					call, stop := context.WithTimeout(ctx, takes)
					stops[m.ID.Key()] = stop
					calls.Go(func() {
						<-call.Done()
						if answer != "" && call.Err() == context.DeadlineExceeded {
							write(m.ID, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, answer))
						}
					})
				}
			}
		}
		for _, stop := range stops {
			stop()
		}
		return 0
	}
}

// soundResultLaw is a law that is broken by a tool result with the text "unsound".
func soundResultLaw() Law {
	said := func(o *Execution, text string) bool {
		for _, t := range o.Conversations {
			for _, e := range t.Events {
				if e.Kind == transcript.Received && strings.Contains(string(e.Raw), text) {
					return true
				}
			}
		}
		return false
	}
	return Law{
		ID: "soundness",
		Judge: func(o *Execution) []Breach {
			if !said(o, "unsound") {
				return nil
			}
			return []Breach{{Deviation: verdict.Deviation{Requirement: "tools.call.result-schema", Summary: "It is unsound."}}}
		},
		// Any result counts, even if it does not belong to the call, as with
		// rules that look at each message.
		Observed: func(o *Execution, _ string) bool { return said(o, "result") },
	}
}

// TestMissingResponseIsNotFixed checks that a replay waits for the responses to the
// script's requests up to the timeout, and that a missing response is not taken
// for a fix.
func TestMissingResponseIsNotFixed(t *testing.T) {
	t.Parallel()
	const slow = 200 * time.Millisecond
	call := script.Operation{
		Do: script.Send, Method: spec.MethodToolsCall, Await: true,
		Message: wire.NewRequest(wire.IntID(100), spec.MethodToolsCall, map[string]any{"name": "work", "arguments": map[string]any{}}),
	}
	loose := call
	loose.Await = false
	cancel := script.Operation{
		Do: script.Send, Method: spec.MethodCancelled,
		Message: script.Bytes(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":100}}`),
	}
	for _, c := range []struct {
		name   string
		takes  time.Duration
		answer string
		script []script.Operation
		want   Verdict
	}{
		{"broken", 0, "unsound", []script.Operation{call}, StillBroken},
		{"broken and slow", slow, "unsound", []script.Operation{call}, StillBroken},
		{"broken, slow and not waited for in the script", slow, "unsound", []script.Operation{loose}, StillBroken},
		{"fixed", 0, "sound", []script.Operation{call}, Fixed},
		{"fixed and slow", slow, "sound", []script.Operation{call}, Fixed},
		{"without an answer", slow, "", []script.Operation{call}, CannotTell},
		{"cancelled by the script", time.Hour, "", []script.Operation{loose, cancel}, Fixed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &script.File{
					Version: script.FileVersion, Transport: spec.Stdio, Reproduced: [2]int{1, 1},
					Expect: script.Expected{Law: "soundness", Requirement: "tools.call.result-schema", Summary: "It is unsound."},
					Script: script.Script{Revision: spec.V20250618, Tools: []string{"work"}, Operations: c.script},
				}
				got, err := Replay(t.Context(), Options{
					Dialer: stdio.InProcess("working", slowServer(c.takes, c.answer)), Laws: []Law{soundResultLaw()}, Timeout: time.Second, Start: 10 * time.Second,
				}, r)
				if err != nil {
					t.Fatal(err)
				}
				if got.Verdict != c.want {
					t.Errorf("%s, not %s: %s", got.Verdict, c.want, got.Reason)
				}
			})
		})
	}
}
