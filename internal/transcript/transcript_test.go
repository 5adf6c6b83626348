package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAddParsesFrames(t *testing.T) {
	tr := New()
	sent := tr.Add(Event{Kind: Sent, Raw: []byte(`{"id":1,"method":"ping"}`)})
	if sent.Seq != 0 || sent.Size != 24 || len(sent.Messages()) != 1 || sent.Messages()[0].Method != "ping" || sent.IsCut() {
		t.Errorf("sent: %+v", sent)
	}
	long := tr.Add(Event{Kind: Received, Raw: []byte(`{"a":`), Size: 1 << 30})
	if long.Seq != 1 || !long.IsCut() || len(long.Messages()) != 0 {
		t.Errorf("received: %+v", long)
	}
	note := tr.Remark("x")
	if note.Seq != 2 || note.Kind != Remark || note.Detail != "x" || note.Frame != nil || note.Messages() != nil || note.IsCut() {
		t.Errorf("remark: %+v", note)
	}
	if tr.Len() != 3 || len(tr.From(0)) != 3 || len(tr.From(2)) != 1 || tr.From(2)[0] != note || tr.From(3) != nil || tr.From(99) != nil {
		t.Error("the events are not found where they are")
	}
}

func TestAddSetsPositionAndTime(t *testing.T) {
	const writers, each = 8, 200
	tr := New()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				e := tr.Add(Event{Kind: Received, Raw: fmt.Appendf(nil, `{"id":%d,"result":{}}`, i)})
				if got := tr.From(e.Seq); len(got) == 0 || got[0] != e {
					t.Errorf("writer %d: event %d is not at its position", w, e.Seq)
				}
			}
		})
	}
	seen := 0
	for seen < writers*each { // concurrently with the writers
		events, err := tr.Wait(t.Context(), seen)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Seq != seen {
				t.Fatalf("event %d stands at position %d", e.Seq, seen)
			}
			seen++
		}
	}
	wg.Wait()
	events := tr.From(0)
	for i, e := range events[1:] {
		if e.At < events[i].At {
			t.Fatalf("event %d is earlier than the one before", e.Seq)
		}
	}
}

func TestWait(t *testing.T) {
	t.Run("is woken by what comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr := New()
			tr.Remark("a")
			var got []*Event
			waiting := true
			go func() {
				got, _ = tr.Wait(t.Context(), 2)
				waiting = false
			}()
			synctest.Wait()
			tr.Remark("b") // not yet at position 2
			synctest.Wait()
			if !waiting {
				t.Fatal("it did not wait for position 2")
			}
			time.Sleep(time.Second) // in the fake time of the bubble
			tr.Remark("c")
			synctest.Wait()
			if waiting || len(got) != 1 || got[0].Detail != "c" || got[0].At != time.Second {
				t.Errorf("got %v", got)
			}
		})
	})
	t.Run("wakes all who wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr := New()
			woken := make(chan int, 10)
			for range 10 {
				go func() {
					events, _ := tr.Wait(t.Context(), 0)
					woken <- len(events)
				}()
			}
			synctest.Wait()
			tr.Remark("a")
			synctest.Wait()
			if len(woken) != 10 {
				t.Errorf("%d of 10 were woken", len(woken))
			}
		})
	})
	t.Run("ends with the cause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr := New()
			enough := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, enough)
			defer cancel()
			began := time.Now()
			if events, err := tr.Wait(ctx, 0); !errors.Is(err, enough) || events != nil {
				t.Errorf("got %v, %v", events, err)
			}
			if took := time.Since(began); took != time.Minute {
				t.Errorf("it took %v", took)
			}
			tr.Remark("a")
			if events, err := tr.Wait(ctx, 0); err != nil || len(events) != 1 {
				t.Errorf("what is there is not returned once the context has ended: %v, %v", events, err)
			}
		})
	})
}

// heap returns the bytes in use on the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestLimitBoundsMemory(t *testing.T) {
	const limit, total = 1 << 20, 4 << 20
	fill := func(head, part, tail string, size int) func() []byte {
		return func() []byte {
			b := make([]byte, 0, size)
			b = append(b, head...)
			b = append(b, bytes.Repeat([]byte(part), (size-len(head)-len(tail))/len(part))...)
			return append(b, tail...)
		}
	}
	for _, c := range []struct {
		name string
		make func() []byte
	}{
		{"results", fill(`{"jsonrpc":"2.0","id":1,"result":"`, "x", `"}`, 256<<10)},
		{"ids", fill(`{"jsonrpc":"2.0","id":"`, "x", `","result":{}}`, 256<<10)},
		{"methods", fill(`{"method":"`, "x", `"}`, 256<<10)},
		{"names", fill(`{"`, "x", `":1}`, 256<<10)},
		{"duplicates at a long pointer", fill(`{"`, "x", `":{"a":1,"a":2}}`, 256<<10)},
		{"many members", func() []byte {
			var b bytes.Buffer
			for i := range 9000 {
				fmt.Fprintf(&b, `"m%d":1,`, i)
			}
			return []byte("{" + b.String() + `"last":1}`)
		}},
		{"many messages", fill("[", "1,", "1]", 16<<10)},
		{"no JSON", fill("", "x", "", 256<<10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := New()
			tr.limit = limit
			before := heap()
			fed := 0
			for fed < total {
				raw := c.make()
				fed += len(raw)
				tr.Add(Event{Kind: Received, Raw: raw})
			}
			most := int64(limit + 2*wholeKept*tr.Len() + 1<<19)
			if grown := heap() - before; grown > most {
				t.Errorf("%d bytes in %d frames take %d bytes of memory, more than %d", fed, tr.Len(), grown, most)
			}
			last := tr.From(tr.Len() - 1)[0]
			if !last.IsCut() || len(last.Raw) > headKept {
				t.Errorf("of the last frame %d bytes are kept; cut: %v", len(last.Raw), last.IsCut())
			}
			runtime.KeepAlive(tr)
		})
	}
}

func TestMessageIdentityAboveLimit(t *testing.T) {
	tr := New()
	tr.limit = 0
	long := strings.Repeat("x", 2*wholeKept)
	cut := tr.Add(Event{Kind: Received, Raw: []byte(`{"jsonrpc":"2.0","id":7,"result":"` + long + `"}`)})
	m := cut.Messages()[0]
	if !cut.IsCut() || cut.Size != int64(len(long)+36) || m.ID.Raw() != "7" || !m.Has("result") || m.Has("error") || m.Result() != nil || m.Raw != nil {
		t.Errorf("cut: size %d, %+v", cut.Size, m)
	}
	if diff := cmp.Diff([]string{"jsonrpc", "id", "result"}, m.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	short := tr.Add(Event{Kind: Received, Raw: []byte(`{"jsonrpc":"2.0","id":8,"result":{"a":1}}`)})
	if short.IsCut() || string(short.Messages()[0].Result()) != `{"a":1}` {
		t.Error("a short frame is cut")
	}
	sent := tr.Add(Event{Kind: Sent, Raw: []byte(`{"id":1,"method":"` + long + `"}`)})
	if sent.IsCut() {
		t.Error("what we sent is cut")
	}
	stderr := tr.Add(Event{Kind: Stderr, Raw: []byte(long)})
	if !stderr.IsCut() || len(stderr.Raw) != headKept {
		t.Errorf("of stderr %d bytes are kept", len(stderr.Raw))
	}
	batch := tr.Add(Event{Kind: Received, Raw: []byte("[" + strings.Repeat(`{"id":1,"result":1},`, 100) + "1]")})
	if !batch.IsCut() || !batch.Frame.Batch || len(batch.Messages()) == 0 || len(batch.Messages()) > 20 {
		t.Errorf("of a batch %d messages are kept; cut: %v", len(batch.Messages()), batch.IsCut())
	}
}

func TestSentFramesDoNotCount(t *testing.T) {
	tr := New()
	tr.limit = 4 * wholeKept
	tr.Add(Event{Kind: Sent, Raw: bytes.Repeat([]byte("x"), 10*wholeKept)})
	if e := tr.Add(Event{Kind: Received, Raw: bytes.Repeat([]byte("x"), 2*wholeKept)}); e.IsCut() {
		t.Error("the server's output is cut for what we sent")
	}
	if e := tr.Add(Event{Kind: Received, Raw: bytes.Repeat([]byte("x"), 3*wholeKept)}); !e.IsCut() {
		t.Error("the limit is not kept")
	}
}
