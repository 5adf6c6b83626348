package verdict

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

func TestGroupNamesTheCWEOfACrash(t *testing.T) {
	at := func(position int, ends bool) Occurrence {
		return Occurrence{Spot: &Spot{"a conversation", position, ends}}
	}
	for _, of := range []struct {
		name      string
		transport spec.Transport
		seen      []Occurrence
		want      int
	}{
		{"at the end", spec.Stdio, []Occurrence{at(3, true)}, spec.CrashCWE},
		{"at the end and somewhere", spec.StreamableHTTP, []Occurrence{at(3, true), {}}, spec.CrashCWE},
		{"at the end and elsewhere", spec.Stdio, []Occurrence{at(3, true), at(4, false)}, 0},
		{"somewhere", spec.Stdio, []Occurrence{{}}, 0},
		{"never", spec.Stdio, nil, 0},
		{"the end of a stream", spec.SSE, []Occurrence{at(3, true)}, 0},
	} {
		f := Finding{Requirement: "base.parse-error", Revision: spec.V20251125, Transport: of.transport, Outcome: Warning}
		p := &Report{}
		p.add([]Finding{f})
		p.groupByCause(map[Key][]Occurrence{f.Key(): of.seen})
		if got := p.Findings[0].CWE; got != of.want {
			t.Errorf("%s: CWE-%d, want CWE-%d", of.name, got, of.want)
		}
	}
}
