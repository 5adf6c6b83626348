package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// listServer returns a toy that responds to tools/list with the page for the
// cursor.
func listServer(page func(cursor string) string) *toy {
	y := &toy{}
	y.answer = func(_ int64, m *wire.Message) []byte {
		switch m.Method {
		case spec.MethodInitialize:
			return []byte(strings.Replace(string(y.usualResponse(m)), `"capabilities":{}`, `"capabilities":{"tools":{}}`, 1))
		case spec.MethodToolsList:
			cursor, _ := wire.Text(wire.At(m.Params(), "/cursor"))
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID.Raw(), page(cursor))
		}
		return nil
	}
	return y
}

// TestAdviceOnCalls checks that --call-tools all is advised only if it is not
// given and would help.
func TestAdviceOnCalls(t *testing.T) {
	const tool, none = `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`, `{"tools":[]}`
	for name, test := range map[string]struct {
		tools  string
		config inventory.Config
		reason string
		lacks  string
	}{
		"safe":                     {tool, inventory.Config{Policy: inventory.CallSafe}, `no tool may be called; add "call: [safe, NAME]" under tools: in mcp-conform.yaml, or give --call-tools all`, "tools: {call: [safe, NAME]}"},
		"all, and each tool never": {tool, inventory.Config{Policy: inventory.CallAll, Never: []string{"x"}}, "tools.never in the configuration excludes every tool of the server", ""},
		"all, and no tool":         {none, inventory.Config{Policy: inventory.CallAll}, "the server listed no tool", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calling := pinging(true)
				calling.Run = func(_ context.Context, t *suite.T) { t.RequireCallableTool() }
				p, err := judge(t, listServer(func(string) string { return test.tools }), engine.Options{
					Cases: []suite.Case{calling}, Revisions: []spec.Revision{spec.V20250618}, Policy: test.config,
				})
				if err != nil {
					t.Fatal(err)
				}
				got := [2]string{p.Verdicts[0].Reason, p.Verdicts[0].Lacks.String()}
				if diff := cmp.Diff([2]string{test.reason, test.lacks}, got); diff != "" {
					t.Errorf("reason and lack (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestListsWithoutEnd checks that a list without an end leads to one notice for
// all revisions.
func TestListsWithoutEnd(t *testing.T) {
	page := func(next string) string { return `{"tools":[],"nextCursor":"` + next + `"}` }
	for name, test := range map[string]struct {
		page func(cursor string) string
		want []string
	}{
		"an end":                   {func(string) string { return `{"tools":[]}` }, nil},
		"an empty cursor":          {func(string) string { return page("") }, nil},
		"a cursor that comes back": {func(string) string { return page("1") }, []string{"tools/list: a cursor was repeated, so no further page was requested; entries after that were not judged"}},
		"pages without end":        {func(cursor string) string { return page(cursor + "+") }, []string{"tools/list: the list did not end within 200 pages, so no further page was requested; entries after that were not judged"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := judge(t, listServer(test.page), engine.Options{Cases: []suite.Case{pinging(true)}})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, p.Notices); diff != "" {
					t.Errorf("notices (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestASecondCopyThatEndsTheFirst checks that a second copy that stops the
// first one (both may listen on the same port) is not reported as a copy that
// failed to start.
func TestASecondCopyThatEndsTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ended := make(chan struct{}) // closed when a newer copy replaces the latest
		y := &toy{}
		dialer := stdio.InProcess("toy", func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
			mine, done := make(chan struct{}), make(chan struct{})
			mu.Lock()
			close(ended)
			ended = mine
			mu.Unlock()
			go func() {
				defer close(done)
				for lines := bufio.NewScanner(in); lines.Scan(); {
					for _, m := range wire.Parse(lines.Bytes()).Messages {
						if m.Method == spec.MethodInitialize { // wait until all concurrently started copies run
							select {
							case <-mine:
								return
							case <-time.After(300 * time.Millisecond):
							}
						}
						if m.Kind == wire.Request {
							fmt.Fprintf(out, "%s\n", y.usualResponse(&m))
						}
					}
				}
			}()
			select {
			case <-done:
				return 0
			case <-mine:
				return 1
			}
		})
		p, err := engine.Run(t.Context(), engine.Options{Dialer: dialer, Cases: []suite.Case{pinging(true)}, StartTimeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a second copy of the server ended the first, so one runs at a time"}, p.Notices); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
	})
}

// TestASecondConnectionThatEndsTheServer checks that the error mentions the
// response to the first connection, which detected the transport, if only the
// next one gets no response.
func TestASecondConnectionThatEndsTheServer(t *testing.T) {
	const said = "the second one may have stopped the server"
	for name, test := range map[string]struct {
		answered bool
		handler  http.HandlerFunc
		want     bool
	}{
		"the second connection":   {true, hangUp, true},
		"the first connection":    {false, hangUp, false},
		"the second one, refused": {true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			_, err = engine.Run(t.Context(), engine.Options{
				Dialer: streamablehttp.NewDialer(u, exchange.Reach{}), Cases: []suite.Case{pinging(true)},
				Revisions: []spec.Revision{spec.V20250618}, StartTimeout: 2 * time.Second, Answered: test.answered,
			})
			if err == nil {
				t.Fatal("it was judged")
			}
			if strings.Contains(err.Error(), said) != test.want {
				t.Errorf("said %q", err)
			}
		})
	}
}

// hangUp closes the connection without a response.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
