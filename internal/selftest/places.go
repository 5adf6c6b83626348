package selftest

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// Place is where a fault is shown.
type Place struct {
	Transport spec.Transport `json:"transport"`
	Revision  spec.Revision  `json:"revision"`
}

// Places returns where the fault can be shown, the transport that suits it
// best first, and for each the newest revision first: those that it names, or
// those in which its requirement exists. Everywhere adds the transports that
// it does not name, as far as it reaches them.
func Places(f faults.Fault, everywhere bool) []Place {
	var out []Place
	for _, t := range transports(f, everywhere) {
		for _, r := range slices.Backward(spec.HandshakeRevisions()) {
			named := len(f.Revisions) == 0 || slices.Contains(f.Revisions, r)
			q := spec.Requirements().Lookup(f.Requirement)
			if named && t.DefinedIn(r) && (f.Legal || q != nil && q.AppliesTo(r, t)) {
				out = append(out, Place{t, r})
			}
		}
	}
	return out
}

// representative picks the places at which a fault is tried where not all are:
// the first for what is wrong; for what is right all on stdio, and one for each
// of the other transports, over which a run costs more.
func representative(f faults.Fault, places []Place) []Place {
	if len(places) > 0 && !f.Legal {
		return places[:1]
	}
	seen := map[spec.Transport]bool{}
	return slices.DeleteFunc(places, func(p Place) bool {
		again := seen[p.Transport]
		seen[p.Transport] = true
		return again && p.Transport != spec.Stdio
	})
}

func transports(f faults.Fault, everywhere bool) []spec.Transport {
	switch {
	case f.Transports != nil:
		return f.Transports
	case everywhere && !ofProcesses(f):
		return spec.Transports()
	default:
		return []spec.Transport{spec.Stdio}
	}
}

// ofProcesses reports whether the fault lies in what only a server on stdio has.
func ofProcesses(f faults.Fault) bool {
	if f.NeedsProcess || f.Unreachable || f.Seams == nil {
		return f.NeedsProcess || f.Unreachable
	}
	s := f.Seams()
	return s.Start != nil || s.End != nil || s.Input != nil
}
