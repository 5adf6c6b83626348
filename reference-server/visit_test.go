package refserver_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// TestVisitIsRequiredBeforeItIsComplete checks that the server announces the visit to a
// page only after the error that names the page, even if two calls run at once.
func TestVisitIsRequiredBeforeItIsComplete(t *testing.T) {
	const call = `,"method":"tools/call","params":{"name":"ask-elicitation-required"}}`
	second := make(chan struct{})
	var once sync.Once
	options := refserver.Options{Seams: refserver.Seams{
		BeforeHandle: func(c *refserver.Call) {
			if c.ID.Raw() == "2" {
				close(second)
			}
		},
		Outgoing: func(o *refserver.Out) {
			if o.Kind == refserver.OutError {
				once.Do(func() { <-second })
			}
		},
	}}
	s := startStdio(t, options)
	s.initialize(string(spec.V20251125), `{"elicitation":{"url":{}}}`)
	s.send(`{"jsonrpc":"2.0","id":1`+call, `{"jsonrpc":"2.0","id":2`+call)
	if got := s.nextLine(); !strings.Contains(got, "-32042") {
		t.Errorf("got %s first, want error -32042", got)
	}
	// The second call gets an error of its own if the server handled it first.
	if got := s.nextLine(); !strings.Contains(got, spec.MethodElicitDone) && !strings.Contains(got, "-32042") {
		t.Errorf("got %s, want the end of the elicitation", got)
	}
}
