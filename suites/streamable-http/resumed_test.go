package streamablehttp_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	streamablehttp "github.com/mcp-conform/mcp-conform/suites/streamable-http"
)

// TestAnEventIsLost checks that a stream that is resumed one event too late gets a finding.
func TestAnEventIsLost(t *testing.T) {
	t.Parallel()
	const lost = "streamable-http.last-event-id-replay: The server does not resend all progress when a stream is resumed. (note)"
	for _, rev := range []spec.Revision{spec.V20250618, spec.V20251125} {
		suitetest.TryWithRulesOver(t, spec.StreamableHTTP, streamablehttp.Cases(), string(rev), "streamable-http.resumption", rev, oneTooLate, []string{lost})
	}
}

const lastEventID = "Last-Event-Id"

// notTakenUp opens a new stream instead of resuming the requested one.
func notTakenUp() refserver.Seams {
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del(lastEventID)
		next.ServeHTTP(w, r)
	}}
}

// oneTooLate resumes streams one event too late, except those that were cut after the priming event.
func oneTooLate() refserver.Seams {
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if m := eventID.FindStringSubmatch(r.Header.Get(lastEventID)); m != nil && m[2] != "0" {
			n, _ := strconv.Atoi(m[2])
			r.Header.Set(lastEventID, fmt.Sprintf("%s-%d", m[1], n+1))
		}
		next.ServeHTTP(w, r)
	}}
}

var eventID = regexp.MustCompile(`^(\d+)-(\d+)$`)
