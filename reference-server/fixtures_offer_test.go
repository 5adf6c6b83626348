package refserver_test

import (
	"io"
	"strings"
	"testing"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func TestFixturesForTheOfficialSuite(t *testing.T) {
	revisions, lines := readScript(t, "testdata/fixtures/offer.script")
	startStdio(t, refserver.Options{RequestTimeout: scriptTimeout, Fixtures: true}).play(lines, revisions[0])
}

func TestFixturesAreAnOption(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{PageSizes: []int{100}})
	if got := bodyText(t, s.do("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)); strings.Contains(got, "test_") {
		t.Errorf("without Options.Fixtures the list is %s", got)
	}
}

// TestReconnection checks that a client can resume the stream of a call after the server has
// closed its connection.
func TestReconnection(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{Fixtures: true})
	body, err := io.ReadAll(s.do("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_reconnection"}}`).Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	id, primed := strings.CutPrefix(lines[0], "id: ")
	if !primed || !strings.Contains(string(body), "retry: ") || strings.Contains(string(body), "result") {
		t.Fatalf("got stream %q before the connection closed", body)
	}
	if rest := bodyText(t, s.do("GET", "", "Last-Event-ID: "+id)); !strings.Contains(rest, `"id":7,"result"`) {
		t.Errorf("after event %s got stream %q", id, rest)
	}
}
