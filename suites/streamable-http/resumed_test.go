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

func TestResumedBehindAMessage(t *testing.T) {
	t.Parallel()
	const replay, unique = "streamable-http.last-event-id-replay: ", "streamable-http.event-id-unique: "
	for _, tt := range []struct {
		name  string
		seams func() refserver.Seams
		want  []string
	}{
		{"the named event is sent again", shifted(-1), []string{replay + "The server resumes a stream before the event that the client named. (note)"}},
		{"the next event is lost", shifted(1), []string{replay + "The server does not resend all progress when a stream is resumed. (note)"}},
		{"an id comes again with another message", idsOfTheEventBefore, []string{
			unique + "The server uses an event id twice. (broken)",
			replay + "The server resumes a stream before the event that the client named. (note)",
		}},
	} {
		for _, rev := range []spec.Revision{spec.V20250618, spec.V20251125} {
			suitetest.TryRuledOver(t, spec.StreamableHTTP, streamablehttp.Cases(), tt.name+" in "+string(rev), "streamable-http.resumption", rev, tt.seams, tt.want)
		}
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

// shifted resumes streams too late by so many events, except those that were cut after the
// priming event.
func shifted(by int) func() refserver.Seams {
	return wraps(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if m := eventID.FindStringSubmatch("id: " + r.Header.Get(lastEventID)); m != nil && m[2] != "0" {
			r.Header.Set(lastEventID, moved(m, by))
		}
		next.ServeHTTP(w, r)
	})
}

// idsOfTheEventBefore shifts the event ids on a stream that is resumed after a message: each
// event gets the id of the one before.
func idsOfTheEventBefore() refserver.Seams {
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if m := eventID.FindStringSubmatch("id: " + r.Header.Get(lastEventID)); m != nil && m[2] != "0" {
			w = renaming{w}
		}
		next.ServeHTTP(w, r)
	}}
}

var eventID = regexp.MustCompile(`(?m)^id: (\d+)-(\d+)`)

func moved(m []string, by int) string {
	n, _ := strconv.Atoi(m[2])
	return fmt.Sprintf("%s-%d", m[1], n+by)
}

type renaming struct{ http.ResponseWriter }

func (w renaming) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w renaming) Write(b []byte) (int, error) {
	out := eventID.ReplaceAllStringFunc(string(b), func(s string) string { return "id: " + moved(eventID.FindStringSubmatch(s), -1) })
	if _, err := w.ResponseWriter.Write([]byte(out)); err != nil {
		return 0, err
	}
	return len(b), nil
}
