package fuzz

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// An Execution is the playback of a script, as laws judge it.
type Execution struct {
	*script.Playback
	// Offer is what the server offers, or nil if that is not known.
	Offer *generate.Offer
}

// player returns a player that waits for a response until the timeout at most.
func (s *search) player(d transport.Dialer, server *ServerInfo, timeout time.Duration) script.Player {
	return script.Player{Dialer: d, Timeout: min(s.Timeout, timeout), Start: s.Start, Pace: s.pace, FinalWait: s.finalWait, Forbidden: server.Forbidden}
}

// play plays a script, and counts its requests and messages.
func (s *search) play(ctx context.Context, p script.Player, server *ServerInfo, sc script.Script) *Execution {
	x := &Execution{p.Play(ctx, sc), server.Offer}
	s.serverStarts.Add(int64(len(x.Conversations)))
	s.messages.Add(int64(x.Messages))
	return x
}

// playFresh plays a script on a fresh server.
func (s *search) playFresh(ctx context.Context, server *ServerInfo, sc script.Script, timeout time.Duration) *Execution {
	d, end := freshDialer(s.Dialer)
	defer end()
	return s.play(ctx, s.player(d, server, timeout), server, sc)
}
