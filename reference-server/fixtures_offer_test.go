package refserver_test

import (
	"io"
	"strings"
	"testing"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func TestFixturesForTheOfficialSuite(t *testing.T) {
	revisions, lines := script(t, "testdata/fixtures/offer.script")
	start(t, refserver.Options{AskTimeout: scriptPatience, Fixtures: true}).play(lines, revisions[0])
}

func TestFixturesAreAnOption(t *testing.T) {
	s := newSite(t, refserver.Options{PageSizes: []int{100}})
	if got := text(t, s.do("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)); strings.Contains(got, "test_") {
		t.Errorf("without the option the list is %s", got)
	}
}

// The connection of a call breaks off; its stream goes on over another.
func TestReconnection(t *testing.T) {
	s := newSite(t, refserver.Options{Fixtures: true})
	body, err := io.ReadAll(s.do("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_reconnection"}}`).Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	id, primed := strings.CutPrefix(lines[0], "id: ")
	if !primed || !strings.Contains(string(body), "retry: ") || strings.Contains(string(body), "result") {
		t.Fatalf("before it breaks off the stream is %q", body)
	}
	if rest := text(t, s.do("GET", "", "Last-Event-ID: "+id)); !strings.Contains(rest, `"id":7,"result"`) {
		t.Errorf("behind %s the stream is %q", id, rest)
	}
}
