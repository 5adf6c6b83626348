package selftest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// fault returns a modified row of the table.
func fault(t *testing.T, id string, alter func(*faults.Fault)) faults.Fault {
	t.Helper()
	f, ok := faults.Lookup(id)
	if !ok {
		t.Fatalf("there is no fault %s", id)
	}
	f.Revisions = []spec.Revision{spec.V20250618}
	alter(&f)
	return f
}

// TestOutcomes checks that the self-test notices a check that finds nothing, a
// check with a finding on another requirement, and a check with a false alarm.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const id = "base.response-id-echo/integer-as-string"
	for _, c := range []struct {
		want  selftest.Outcome
		fault faults.Fault
	}{
		{selftest.Killed, fault(t, id, func(*faults.Fault) {})},
		{selftest.Survived, fault(t, id, func(f *faults.Fault) { f.Seams = func() refserver.Seams { return refserver.Seams{} } })},
		{selftest.MisAttributed, fault(t, id, func(f *faults.Fault) { f.Requirement = "ping.not-excessive" })},
		{selftest.FalseAlarm, fault(t, id, func(f *faults.Fault) { f.Legal, f.Requirement = true, "" })},
		{selftest.Silent, fault(t, id, func(f *faults.Fault) {
			f.Legal, f.Seams = true, func() refserver.Seams { return refserver.Seams{} }
		})},
		{selftest.NotYet, fault(t, id, func(f *faults.Fault) { f.Requirement = "lifecycle.request-timeouts"; f.Revisions = nil })},
	} {
		t.Run(string(c.want), func(t *testing.T) {
			t.Parallel()
			rows := selftest.Run(t.Context(), selftest.Options{Faults: []faults.Fault{c.fault}}).Rows
			if len(rows) == 0 {
				t.Fatal("the fault was not tried")
			}
			if diff := cmp.Diff(c.want, rows[0].Outcome); diff != "" {
				t.Errorf("outcome (-want +got):\n%s\n%v", diff, rows[0].By)
			}
			if good := c.want == selftest.Killed || c.want == selftest.Silent || c.want == selftest.NotYet; rows[0].Outcome.Good() != good {
				t.Errorf("%s counts as good: %v", rows[0].Outcome, !good)
			}
		})
	}
}

// TestOverEveryTransport checks that the server without faults gets no findings
// over any transport, and that a fault is found over the transport that it names.
func TestOverEveryTransport(t *testing.T) {
	t.Parallel()
	rows := selftest.Run(t.Context(), selftest.Options{Faultless: true, Workers: 2, Faults: []faults.Fault{
		fault(t, "streamable-http.accepted-202/200", func(*faults.Fault) {}),
		fault(t, "sse.endpoint-event-first/late", func(f *faults.Fault) { f.Revisions = nil }),
	}}).Rows
	got := map[spec.Transport]int{}
	for _, r := range rows {
		got[r.Transport]++
		if !r.Outcome.Good() {
			t.Errorf("%s in %s over %s: %s\n%v", r.Fault, r.Revision, r.Transport, r.Outcome, r.By)
		}
	}
	if diff := cmp.Diff(map[spec.Transport]int{spec.Stdio: 4, spec.StreamableHTTP: 4, spec.SSE: 2}, got); diff != "" {
		t.Errorf("rows over each transport (-want +got):\n%s", diff)
	}
}

// TestDeafOverSSE checks that a server that does not respond to ping is found
// even when clients are separated before anything is judged.
func TestDeafOverSSE(t *testing.T) {
	t.Parallel()
	rows := selftest.Run(t.Context(), selftest.Options{Faults: []faults.Fault{
		fault(t, "ping.responds/silent", func(f *faults.Fault) {
			f.Transports, f.Revisions = []spec.Transport{spec.SSE}, nil
		}),
	}}).Rows
	if len(rows) != 1 || rows[0].Outcome != selftest.Killed {
		t.Errorf("%+v", rows)
	}
}
