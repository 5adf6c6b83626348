package selftest

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// A Place is a transport and a revision in which a fault is tried.
type Place struct {
	Transport spec.Transport `json:"transport"`
	Revision  spec.Revision  `json:"revision"`
}

// Places returns where the fault can be observed: the most suitable transport first, and
// the newest revision first for each transport. The revisions are those that the fault
// names. If it names none, they are the handshake revisions in which its requirement exists,
// or 2026-07-28 if the requirement exists in no other revision. If everywhere is set, Places
// also returns the places on all other transports over which the fault has an effect.
func Places(f faults.Fault, everywhere bool) []Place {
	var out []Place
	for _, t := range transportsOf(f, everywhere) {
		q := spec.Requirements().Lookup(f.Requirement)
		for _, r := range slices.Backward(f.AppliesIn()) {
			if t.IsDefinedIn(r) && (f.Legal || q != nil && q.AppliesTo(r, t)) {
				out = append(out, Place{t, r})
			}
		}
	}
	return out
}

// representativePlaces returns the places in which f is tried by default. If f breaks a
// requirement, the result has only the first place. If f is a legal variation, the result has every
// place on stdio and one for each other transport, because a run over HTTP costs more.
func representativePlaces(f faults.Fault, places []Place) []Place {
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

func transportsOf(f faults.Fault, everywhere bool) []spec.Transport {
	switch {
	case f.Transports != nil:
		return f.Transports
	case everywhere && !needsProcess(f):
		return spec.Transports()
	default:
		return []spec.Transport{spec.Stdio}
	}
}

// needsProcess reports whether only a server over stdio, which is a process, can have the fault.
func needsProcess(f faults.Fault) bool {
	if f.NeedsProcess || f.Unreachable || f.Seams == nil {
		return f.NeedsProcess || f.Unreachable
	}
	s := f.Seams()
	return s.Start != nil || s.End != nil || s.Input != nil
}
