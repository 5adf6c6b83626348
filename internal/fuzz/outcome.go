package fuzz

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// An Outcome is the result of a script, as laws judge it.
type Outcome struct {
	*script.Playback
	// Offer is what the server offers, or nil if that is not known.
	Offer *generate.Offer
}

// player returns a player that waits at most the given time for a response.
func (s *search) player(d transport.Dialer, place *Surroundings, most time.Duration) script.Player {
	return script.Player{Dialer: d, Timeout: min(s.Timeout, most), Start: s.Start, Pace: s.pace, Linger: s.linger, Forbidden: place.Forbidden}
}

// play plays a script, and counts its requests and messages.
func (s *search) play(ctx context.Context, p script.Player, place *Surroundings, what script.Script) *Outcome {
	o := &Outcome{p.Play(ctx, what), place.Offer}
	s.servers.Add(int64(len(o.Conversations)))
	s.messages.Add(int64(o.Messages))
	return o
}

// playFresh plays a script on a fresh server.
func (s *search) playFresh(ctx context.Context, place *Surroundings, what script.Script, most time.Duration) *Outcome {
	d, end := fresh(s.Dialer)
	defer end()
	return s.play(ctx, s.player(d, place, most), place, what)
}
