package refserver

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A rootsState allows one roots/list request at a time, however many
// notifications/roots/list_changed arrive.
type rootsState struct {
	fetching, stale bool
	known           jsontext.Value // the result of the last roots/list
}

// refreshRoots requests the client's roots if the client has declared roots and
// sent notifications/initialized.
func (s *Session) refreshRoots() {
	if !s.Declared("roots") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.initialized {
		return
	}
	if s.roots.fetching {
		s.roots.stale = true
		return
	}
	s.roots.fetching = true
	s.Go(s.fetchRoots)
}

func (s *Session) fetchRoots(ctx context.Context) {
	for repeat := true; repeat; {
		result, err := s.SendRequest(ctx, wire.ID{}, spec.MethodRootsList, nil)
		s.mu.Lock()
		notify := false
		if err == nil {
			notify = s.subscriptions[rootsURI] && !bytes.Equal(s.roots.known, result)
			s.roots.known = result
		}
		repeat = s.roots.stale && ctx.Err() == nil
		s.roots.stale, s.roots.fetching = false, repeat
		s.mu.Unlock()
		if notify {
			s.notify(wire.ID{}, spec.MethodResourcesUpdated, object{"uri": rootsURI})
		}
	}
}
