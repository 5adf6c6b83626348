package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// serveOneTool serves a tool that is named after the revision. In the silent revision it answers
// only initialize.
func serveOneTool(silent spec.Revision) stdio.Serve {
	return func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		revision := ""
		for lines := bufio.NewScanner(in); lines.Scan(); {
			for _, m := range wire.Parse(lines.Bytes()).Messages {
				result := ""
				switch m.Method {
				case spec.MethodInitialize:
					revision, _ = wire.Text(m.ParamAt("/protocolVersion"))
					result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}`, revision)
				case spec.MethodPing:
					result = "{}"
				case spec.MethodToolsList:
					result = fmt.Sprintf(`{"tools":[{"name":"tool-of-%s","inputSchema":{"type":"object"}}]}`, revision)
				}
				if result != "" && (revision != string(silent) || m.Method == spec.MethodInitialize) {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID.Raw(), result)
				}
			}
		}
		return 0
	}
}

// TestInventories checks the inventories that are taken in conversations which the test has opened,
// and which of these conversations stay open.
func TestInventories(t *testing.T) {
	t.Parallel()
	const served, silent, notSpoken = spec.V20251125, spec.V20250618, spec.V20250326
	for name, single := range map[string]bool{"one server at a time": true, "several": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSession(Options{Dialer: stdio.InProcess("toy", serveOneTool(silent)), Jobs: 2}.withDefaults())
				s.gate.isSingle = single
				found := &probedConversations{pass: s.gate.enter(false, 0)}
				for _, rev := range []spec.Revision{served, silent, notSpoken} {
					conv, err := s.dial(t.Context(), s.o.clientOptions(rev))
					if err != nil || conv.Handshake(t.Context()) != nil {
						t.Fatal(rev, err)
					}
					p := &probed{revision: rev, conv: conv, chosen: string(rev)}
					if rev == notSpoken {
						p.chosen = string(served)
					}
					found.results = append(found.results, p)
				}
				offered := &offer{over: spec.Stdio, revisions: []spec.Revision{silent, served}}
				open := newInventoryTaker(s, offered).take(t.Context(), found)
				got := map[spec.Revision][]string{}
				for rev, inv := range offered.inventories {
					got[rev] = []string{}
					for i := range inv.Tools {
						got[rev] = append(got[rev], inv.Tools[i].Name)
					}
				}
				if diff := cmp.Diff(map[spec.Revision][]string{served: {"tool-of-" + string(served)}, silent: {}}, got); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
				if open.byRevision[served] == nil || open.byRevision[silent] == nil || len(open.byRevision) != 2 {
					t.Errorf("conversations for %v", open.byRevision)
				}
				alive := func(p *probed) bool { return p.conv.Alive() }
				if single && slices.ContainsFunc(found.results, alive) {
					t.Error("a conversation of the probe is open, though servers run one at a time")
				}
				if !single && (!alive(found.results[0]) || alive(found.results[2])) {
					t.Error("the conversation to go on with has ended, or the other is open")
				}
				open.end(s.ender)
				s.gate.drain()
			})
		})
	}
}

// TestDecideRevisions checks which revisions are judged, by responses to the opening request that
// are made by hand.
func TestDecideRevisions(t *testing.T) {
	t.Parallel()
	answer := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)).Messages[0]
	r := newProber(newSession(Options{Dialer: over{transport: spec.Stdio}}.withDefaults()))
	var results []*probed
	for _, rev := range []spec.Revision{spec.V20251125, spec.V20250618, spec.V20250326} {
		results = append(results, &probed{revision: rev, chosen: "2025-06-18", reply: &client.Reply{Message: &answer}})
	}
	r.decideRevisions(results)
	var got []string
	for _, n := range r.offer.notSpoken {
		got = append(got, fmt.Sprintf("%s: %s", n.Revision, n.Reason))
	}
	want := []string{"2025-03-26: the server chose 2025-06-18", "2025-11-25: the server chose 2025-06-18"}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(r.offer.revisions, []spec.Revision{spec.V20250618}) {
		t.Errorf("judged are %v; not spoken (-want +got):\n%s", r.offer.revisions, diff)
	}
}
