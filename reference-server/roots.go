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

// rootsResource returns the resource with the client's roots. In a stateless revision
// the server requests them when the resource is read.
func (c *Call) rootsResource() *resource {
	if c.isStateless() {
		return &resource{uri: rootsURI, name: "roots", title: "The client's roots", mime: "application/json", askForText: askRoots}
	}
	c.Session.mu.Lock()
	defer c.Session.mu.Unlock()
	known := string(c.Session.roots.known)
	if known == "" {
		known = `{"roots":[]}`
	}
	return &resource{uri: rootsURI, name: "roots", title: "The client's roots", mime: "application/json", text: known, isVolatile: true}
}

// askRoots returns the client's result of roots/list.
func askRoots(c *Call) string {
	result, err := c.SendRequest(spec.MethodRootsList, nil)
	if err != nil {
		return "" // the result is discarded
	}
	return string(result)
}

// refreshRoots requests the client's roots if the client has declared roots and sent
// notifications/initialized. If a roots/list request is already in progress, the new one is sent
// after its response.
func (s *Session) refreshRoots() {
	if !s.ClientDeclared("roots") {
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
