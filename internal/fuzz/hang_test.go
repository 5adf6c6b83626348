package fuzz

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// hangingServer serves requests one after the other. It delays the response to a
// prompt once two resources are subscribed to.
func hangingServer(takes time.Duration) stdio.Serve {
	return func(ctx context.Context, in io.Reader, out, _ io.Writer, signals <-chan string) int {
		subscribed := map[string]bool{}
		lines := bufio.NewScanner(in)
		for lines.Buffer(nil, 16<<20); lines.Scan(); {
			for _, m := range wire.Parse(lines.Bytes()).Messages {
				uri, _ := wire.Text(m.ParamAt("/uri"))
				result := "{}"
				switch m.Method {
				case spec.MethodInitialize:
					result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"resources":{"subscribe":true},"prompts":{}},"serverInfo":{"name":"a","version":"1"}}`, spec.V20250618)
				case spec.MethodResourcesList:
					result = `{"resources":[{"uri":"a:1","name":"1"},{"uri":"a:2","name":"2"},{"uri":"a:3","name":"3"}]}`
				case spec.MethodResourcesTemplates:
					result = `{"resourceTemplates":[]}`
				case spec.MethodPromptsList:
					result = `{"prompts":[{"name":"p"}]}`
				case spec.MethodResourcesRead:
					result = fmt.Sprintf(`{"contents":[{"uri":%q,"text":""}]}`, uri)
				case spec.MethodResourcesSubscribe:
					subscribed[uri] = true
				case spec.MethodResourcesUnsubscribe:
					delete(subscribed, uri)
				case spec.MethodPromptsGet:
					if len(subscribed) >= 2 {
						select {
						case <-time.After(takes):
						case <-ctx.Done():
						case <-signals:
							return 1
						}
					}
					result = `{"messages":[]}`
				case spec.MethodPing:
				default:
					if m.Kind == wire.Request {
						fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID.Raw())
					}
					continue
				}
				if m.Kind == wire.Request {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID.Raw(), result)
				}
			}
		}
		return 0
	}
}

// unansweredFindings returns the findings about missing responses, and the report,
// for a server with this delay and a search with this timeout.
func unansweredFindings(t *testing.T, takes, timeout time.Duration) (found []*Finding, r *Report) {
	t.Helper()
	answered := slices.DeleteFunc(ruleset.All(), func(r rules.Rule) bool { return !slices.Contains(r.Requirements, "base.request-answered") })
	r, err := Run(t.Context(), Options{
		Dialer: stdio.InProcess("hanging", hangingServer(takes)), Laws: []Law{RulesLaw(answered)}, Revisions: []spec.Revision{spec.V20250618},
		Policy: inventory.Config{Policy: inventory.CallNone}, Time: 8 * time.Second, Jobs: 4, Timeout: timeout, Start: 20 * time.Second,
		Shrink: Budget{Time: 10 * time.Second, Attempts: 200},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Requirement == "base.request-answered" {
			found = append(found, f)
			t.Logf("%s after %v, %d of %d, %d operations, %d bytes, cut %t: %s", f.Outcome, f.After.Round(time.Millisecond), f.Retries.Reproduced, f.Retries.Attempts, len(f.Script.Operations), f.Script.Size(), f.Cut, f.Seen)
		}
	}
	t.Logf("%d sequences, %d requests", r.Cases, r.Requests)
	return found, r
}

// TestHangIsOneFinding expects one finding for a server that stops responding:
// the request at which it stops, shrunk, and nothing about later requests.
func TestHangIsOneFinding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found, r := unansweredFindings(t, time.Hour, time.Second)
		if len(found) != 1 || r.Incomplete != "" {
			t.Fatalf("%d findings, incomplete %q", len(found), r.Incomplete)
		}
		f := found[0]
		if f.Outcome != verdict.Broken || f.Method != spec.MethodPromptsGet || f.Retries.Reproduced == 0 || len(f.Script.Operations) > 12 {
			t.Errorf("%s with %s, %d of %d, %d operations", f.Outcome, f.Method, f.Retries.Reproduced, f.Retries.Attempts, len(f.Script.Operations))
		}
	})
}

// TestSlowServerIsNotHung checks that a server that answers within the timeout is not
// reported as hung, even if it takes much longer than a search waits.
func TestSlowServerIsNotHung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found, _ := unansweredFindings(t, 3500*time.Millisecond, 8*time.Second)
		for _, f := range found {
			if f.Recurred() {
				t.Errorf("%s: %s", f.Outcome, f.Seen)
			}
		}
	})
}
