package record

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestSessions checks which requests end up in the same transcript. A transcript is a list of the
// methods of its messages.
func TestSessions(t *testing.T) {
	p := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Give"); id != "" {
			w.Header().Set(sessionHeader, id)
		}
	})
	const initialize, list, other = "initialize", "tools/list", "/elsewhere"
	for _, c := range []struct {
		method, id, message string // the message's method and id
		give                string // the session id that the server gives
	}{
		{method: initialize, message: "1", give: "a"},
		{method: list, id: "a", message: "2"},
		{method: initialize, message: "1"}, // no session id
		{method: list, message: "2"},
		{method: initialize, message: "3"}, // another client
		{method: list, message: "2"},
		{method: list, message: "2"}, // a client that began before the recording
		{method: list, id: "b", message: "1"},
		{method: list, id: "a", message: "3"},
		{method: other, message: "9"}, // is not recorded
	} {
		url, method := p.url, c.method
		if method == other {
			url, method = strings.Replace(p.url, "/mcp", other, 1), list
		}
		headers := []string{"Give: " + c.give}
		if c.id != "" {
			headers = append(headers, sessionHeader+": "+c.id)
		}
		fetch(t, "POST", url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, c.message, method)), headers...)
	}
	p.stop()
	var got []string
	for _, rec := range p.Sessions() {
		var methods []string
		for _, e := range rec.From(0) {
			for _, m := range e.Messages() {
				methods = append(methods, m.Method+" "+m.ID.Raw())
			}
		}
		got = append(got, strings.Join(methods, ", "))
	}
	if diff := cmp.Diff([]string{"initialize 1, tools/list 2, tools/list 3", "initialize 1, tools/list 2", "initialize 3, tools/list 2", "tools/list 2", "tools/list 1"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRecordingIsBounded checks that what exceeds the limits is passed on.
func TestRecordingIsBounded(t *testing.T) {
	p := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		_, _ = w.Write(all)
	})
	for i := range MaxSessions + 3 {
		if _, got := fetch(t, "POST", p.url, strings.NewReader("{}"), fmt.Sprintf("%s: %d", sessionHeader, i)); string(got) != "{}" {
			t.Errorf("session %d gets %q", i, got)
		}
	}
	if n := len(p.Sessions()); n != MaxSessions || len(p.said()) != 1 {
		t.Errorf("%d sessions, said %q", n, p.said())
	}
	long := bytes.Repeat([]byte("x"), transcript.DefaultFrame+10)
	if _, got := fetch(t, "POST", p.url, bytes.NewReader(long), sessionHeader+": 7"); !bytes.Equal(got, long) {
		t.Errorf("%d of %d bytes come back", len(got), len(long))
	}
	fetch(t, "POST", p.url, strings.NewReader("{}"), sessionHeader+": 7")
	p.stop()
	events := p.Sessions()[7].From(0)
	for _, e := range events {
		if len(e.Raw) > headKept {
			t.Errorf("%d bytes are recorded as %s", len(e.Raw), e.Kind)
		}
	}
	if last := events[len(events)-1]; last.Kind != transcript.Remark || !strings.Contains(last.Detail, "nothing is recorded from here on") {
		t.Errorf("the last event is %s %s", last.Kind, last.Detail)
	}
}

func TestCompressedBodiesEndTheRecording(t *testing.T) {
	p := startProxy(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "\x01\x02")
	})
	_, got := fetch(t, "POST", p.url, strings.NewReader("{}"))
	p.stop()
	events := p.Sessions()[0].From(0)
	if last := events[len(events)-1]; string(got) != "\x01\x02" || !strings.Contains(last.Detail, "compresses its responses (br)") {
		t.Errorf("got %q, recorded %s %s", got, last.Kind, last.Detail)
	}
}
