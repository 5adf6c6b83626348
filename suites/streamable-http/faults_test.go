package streamablehttp_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	streamablehttp "github.com/mcp-conform/mcp-conform/suites/streamable-http"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, m := range []suitetest.Misbehaviour{
		{
			Name: "a server that behaves", Case: "streamable-http.side-by-side",
			Kept: []string{"streamable-http.multiple-clients", "streamable-http.session-isolation", "streamable-http.session-id-unique-secure"},
		},
		{Name: "lists that stay", Case: "streamable-http.negotiated-lists", Kept: []string{"streamable-http.session-isolation"}},
		{
			Name: "streams that go on", Case: "streamable-http.resumption",
			Kept: []string{"streamable-http.disconnect-not-cancel", "streamable-http.last-event-id-replay"},
		},
		{Name: "JSON alone", Case: "streamable-http.resumption", JSONOnly: true},
		{Name: "streams that are not taken up again", Case: "streamable-http.resumption", Seams: notTakenUp},
		{Name: "names that lead here", Case: "streamable-http.origin", Kept: []string{"streamable-http.origin-validated"}},
	} {
		m.Transport = spec.StreamableHTTP
		m.Try(t, streamablehttp.Cases())
	}
}
