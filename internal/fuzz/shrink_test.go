package fuzz

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestShrinkReportsLackOfTime checks that Shrink reports a lack of time only if it had steps left
// to try.
func TestShrinkReportsLackOfTime(t *testing.T) {
	t.Parallel()
	ping := script.Operation{Do: script.Send, Method: spec.MethodPing, Message: script.Bytes(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
	awaited := ping
	awaited.Await = true
	// The time ends with the given attempt. Of the two steps, waiting for the
	// first operation hides the finding, and the second operation is not needed.
	until := func(end int) (tries int, cut bool) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		s := script.Script{Revision: spec.V20251125, Operations: []script.Operation{ping, awaited}}
		_, tries, cut = Shrink(ctx, s, nil, Budget{Time: time.Hour, Attempts: 1000}, func(s script.Script) bool {
			if n++; n == end {
				cancel()
			}
			return !s.Operations[0].Await
		})
		return tries, cut
	}
	all, cut := until(0)
	if all < 3 || cut {
		t.Fatalf("%d tries, cut %v, with all the time", all, cut)
	}
	if _, cut := until(1); !cut {
		t.Error("what ended with the first try is not said to be cut")
	}
	if _, cut := until(all); cut {
		t.Error("what ended when all was tried a second time is said to be cut")
	}
	for name, c := range map[string]struct {
		operations []script.Operation
		want       bool
	}{
		"one request that is awaited":   {[]script.Operation{awaited}, false},
		"one that could be awaited":     {[]script.Operation{ping}, true},
		"two requests that are awaited": {[]script.Operation{awaited, awaited}, true},
	} {
		if got := (&shrinker{smallest: script.Script{Operations: c.operations}}).canShrink(); got != c.want {
			t.Errorf("%s: %v where nothing was tried", name, got)
		}
	}
}

// TestShrunkMethod checks that an operation names the method that its message has after shrinking.
func TestShrunkMethod(t *testing.T) {
	const long = "mcp-conform/an unknown method"
	s := script.Script{Revision: spec.V20251125, Operations: []script.Operation{{
		Do: script.Send, Method: long, Message: script.Message{ID: wire.IntID(1), Method: long}.Bytes(),
	}}}
	smaller, _, _ := Shrink(t.Context(), s, nil, Budget{Time: time.Hour, Attempts: 1000}, func(s script.Script) bool {
		return len(s.Operations) == 1
	})
	got := smaller.Operations[0]
	if method := wire.Parse(got.Message).Messages[0].Method; got.Method != method || len(method) >= len(long) {
		t.Errorf("the operation names %q, and its message %q", got.Method, method)
	}
}

// TestShrinkKeepsValues checks that a script shrinks without other values than those it sent, if
// these must stay.
func TestShrinkKeepsValues(t *testing.T) {
	operations := []script.Operation{
		{Do: script.Send, Method: spec.MethodPing, Message: wire.NewRequest(wire.IntID(1), spec.MethodPing, nil)},
		{Do: script.Send, Method: "mcp-conform/verbose", Await: true, Message: []byte(`{"jsonrpc":"2.0","id":2,"method":"mcp-conform/verbose","params":{"level":"verbose","limit":77,"more":true}}`)},
		{Do: script.Send, Await: true, Message: []byte(`this is not JSON`)},
	}
	shows := func(s script.Script) bool {
		var sent []byte
		for _, o := range s.Operations {
			sent = append(sent, o.Message...)
		}
		return bytes.Contains(sent, []byte(`"level":`)) && bytes.Contains(sent, []byte(`"limit":`)) && bytes.Contains(sent, []byte("N"))
	}
	smaller, _, cut := Shrink(t.Context(), script.Script{Revision: spec.V20251125, Operations: operations}, nil, Budget{Time: time.Hour, Attempts: 1000, KeepValues: true}, shows)
	var got []string
	for _, o := range smaller.Operations {
		got = append(got, string(o.Message))
	}
	want := []string{`{"jsonrpc":"2.0","id":2,"method":"mcp-conform/verbose","params":{"level":"verbose","limit":77}}`, `this is not JSON`}
	if diff := cmp.Diff(want, got); diff != "" || cut {
		t.Errorf("cut %v; left (-want +got):\n%s", cut, diff)
	}
}

// TestShrinkKeepsCancelledRequests checks that a cancellation is removed with its request, and that one
// whose request the script never sent stays.
func TestShrinkKeepsCancelledRequests(t *testing.T) {
	cancel := func(id int64) script.Operation {
		return script.Operation{Do: script.Send, Method: spec.MethodCancelled, Message: wire.NewNotification(spec.MethodCancelled, map[string]any{"requestId": id})}
	}
	ping := func(id int64) script.Operation {
		return script.Operation{Do: script.Send, Method: spec.MethodPing, Message: wire.NewRequest(wire.IntID(id), spec.MethodPing, nil)}
	}
	for name, c := range map[string]struct {
		operations []script.Operation
		needed     string // the method that shows the finding
		want       []string
	}{
		"a cancellation shows it": {[]script.Operation{ping(1), ping(2), cancel(1)}, spec.MethodCancelled, []string{spec.MethodPing, spec.MethodCancelled}},
		"a request shows it":      {[]script.Operation{ping(1), cancel(1), ping(2), cancel(2)}, spec.MethodPing, []string{spec.MethodPing}},
		"of nothing":              {[]script.Operation{ping(1), cancel(7)}, spec.MethodCancelled, []string{spec.MethodCancelled}},
		"by the transport":        {[]script.Operation{ping(1), {Do: script.Cancel, Method: spec.MethodCancelled, Target: script.Bytes("1")}}, spec.MethodCancelled, []string{spec.MethodPing, spec.MethodCancelled}},
	} {
		t.Run(name, func(t *testing.T) {
			smaller, _, _ := Shrink(t.Context(), script.Script{Revision: spec.V20251125, NoDiscover: true, Operations: c.operations}, nil, Budget{Time: time.Hour, Attempts: 1000}, func(s script.Script) bool {
				return slices.ContainsFunc(s.Operations, func(o script.Operation) bool { return o.Method == c.needed })
			})
			var got []string
			for _, o := range smaller.Operations {
				got = append(got, o.Method)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || !smaller.NoDiscover {
				t.Errorf("NoDiscover %v; left (-want +got):\n%s", smaller.NoDiscover, diff)
			}
		})
	}
}
