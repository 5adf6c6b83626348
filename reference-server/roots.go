package refserver

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// rootsState keeps one question about the client's roots going at a time,
// however often the client says that they changed.
type rootsState struct {
	asking, stale bool
	known         jsontext.Value // the result of the last roots/list
}

// rootsChanged asks for the client's roots, if it has declared any and has
// said initialized.
func (s *Session) rootsChanged() {
	if !s.Declared("roots") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return
	}
	if s.roots.asking {
		s.roots.stale = true
		return
	}
	s.roots.asking = true
	s.Go(s.learnRoots)
}

func (s *Session) learnRoots(ctx context.Context) {
	for again := true; again; {
		result, err := s.Ask(ctx, wire.ID{}, spec.MethodRootsList, nil)
		s.mu.Lock()
		tell := false
		if err == nil {
			tell = s.subs[rootsURI] && !bytes.Equal(s.roots.known, result)
			s.roots.known = result
		}
		again = s.roots.stale && ctx.Err() == nil
		s.roots.stale, s.roots.asking = false, again
		s.mu.Unlock()
		if tell {
			s.notify(wire.ID{}, spec.MethodResourcesUpdated, object{"uri": rootsURI})
		}
	}
}
