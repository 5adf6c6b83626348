package rules

import "github.com/mcp-conform/mcp-conform/internal/transcript"

// An Ending records which side can still send something, and whether the server's process exited.
type Ending struct {
	// InputClosed is set if the client can send nothing more.
	InputClosed bool
	// OutputEnded is set if the server can send nothing more.
	OutputEnded bool
	// Signalled is set if the client sent the server a signal.
	Signalled bool
	// Exited is the event of the process exit, nil before that.
	Exited *transcript.Event
	// sessionEnded is set if the client ended the session by DELETE.
	sessionEnded bool
}

// isByClient reports whether the client left the server no way to respond.
func (n *Ending) isByClient() bool { return n.InputClosed || n.Signalled || n.sessionEnded }

func (n *Ending) note(e *transcript.Event) {
	switch e.Kind {
	case transcript.InputClosed:
		n.InputClosed = true
	case transcript.Signalled:
		n.Signalled = true
	case transcript.OutputClosed:
		n.OutputEnded = true
	case transcript.Flooded:
		n.OutputEnded = n.OutputEnded || e.Exchange == 0
	case transcript.Exited:
		n.Exited = e
	}
}
