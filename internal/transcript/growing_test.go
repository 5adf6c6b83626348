package transcript

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestReadDialogue checks that ReadDialogue always passes the dialogue of all events so far, also
// after an exchange was retracted.
func TestReadDialogue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := New()
		for _, e := range drawEvents(t) {
			if e.Kind != Opened {
				record.Add(*e)
			}
			if e.Exchange > 0 && rapid.IntRange(0, 9).Draw(t, "retract") == 0 {
				record.Retract(e.Exchange, "refused")
			}
			if rapid.Bool().Draw(t, "read") {
				var got []string
				record.ReadDialogue(func(d *Dialogue) { got = describe(d) })
				if diff := cmp.Diff(describe(record.Dialogue()), got); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	})
}

func TestHasRequest(t *testing.T) {
	record := New()
	isPing := func(r *Request) bool { return r.Message.Method == "ping" }
	if record.HasRequest(isPing) {
		t.Error("an empty transcript has a ping")
	}
	for _, e := range eventsOf(t, "transport: stdio\n\n"+`> {"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n") {
		record.Add(*e)
	}
	if !record.HasRequest(isPing) {
		t.Error("the ping is missing")
	}
	if record.HasRequest(func(r *Request) bool { return r.Response() != nil }) {
		t.Error("the ping has a response")
	}
}

// TestDroppedEventsLeaveTheDialogue checks that Thin and Release drop the dialogue too: it refers to
// the events whose memory they free.
func TestDroppedEventsLeaveTheDialogue(t *testing.T) {
	events := eventsOf(t, "transport: stdio\n\n"+strings.Repeat(`> {"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", 4*keptAround))
	for name, c := range map[string]struct {
		drop func(*Transcript)
		want int
	}{
		"thinned":  {func(r *Transcript) { r.Thin() }, 2 * keptAround},
		"released": {(*Transcript).Release, 0},
	} {
		record, count := New(), 0
		for _, e := range events {
			if e.Kind == Sent {
				record.Add(*e)
			}
		}
		record.ReadDialogue(func(*Dialogue) {})
		c.drop(record)
		if record.dialogue.dialogue != nil {
			t.Errorf("%s: the dialogue is kept", name)
		}
		record.ReadDialogue(func(d *Dialogue) { count = len(d.Requests()) })
		if count != c.want {
			t.Errorf("%s: %d requests, want %d", name, count, c.want)
		}
	}
}

// TestReadDialogueConcurrently checks that ReadDialogue is safe while events are added.
func TestReadDialogueConcurrently(t *testing.T) {
	record := New()
	events := eventsOf(t, "transport: stdio\n\n"+`> {"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+`< {"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				for _, e := range events {
					record.Add(*e)
				}
				record.ReadDialogue(func(d *Dialogue) { describe(d) })
			}
		})
	}
	all.Wait()
	if got, want := len(record.Dialogue().Requests()), 200; got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
}
