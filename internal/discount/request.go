package discount

// RequestFacts describe a JSON-RPC request that got no response, after its
// conversation has ended. The zero value is a request that the client sent and
// did not wait for.
type RequestFacts struct {
	// Waited reports whether the client waited as long as a response may take,
	// or the server ended before.
	Waited bool
	// Refused reports whether the status of the HTTP response refused the
	// request, or there was no connection.
	Refused bool
	// Illegal reports whether the request is one that no client may send.
	Illegal bool
	// Irregular reports whether the specification does not require a response in
	// this situation: before the handshake was complete, after a second
	// initialize, to an id that was used before, or in a batch.
	Irregular bool
	// Disordered reports whether the client had broken the order of the
	// handshake.
	Disordered bool
	// Withdrawn reports whether the client cancelled the request.
	Withdrawn bool
	// Stopped reports whether the client had sent a signal, closed the input or
	// ended the session.
	Stopped bool
	// ServerEnded reports whether the server had ended, or ended before the
	// wait was over.
	ServerEnded bool
	// Disrupted reports whether the server stopped at an earlier message that
	// it has to survive, which is judged instead.
	Disrupted bool
	// OtherID reports whether a response with another id was meant for it,
	// which is judged instead.
	OtherID bool
	// Unreadable reports whether the response may be in a line that cannot be
	// read, which is judged instead.
	Unreadable bool
	// Unread reports whether the client did not read a long HTTP response to its
	// end, because it exceeds the limits or did not arrive in time.
	Unread bool
	// AfterIllegal reports whether an illegal message was sent before, and the
	// server has not responded to anything since.
	AfterIllegal bool
	// Unsupported reports whether the server does not know ping, which is
	// judged instead.
	Unsupported bool
	// ExchangeJudged reports whether the HTTP response ended without the JSON-RPC
	// response; that is judged instead.
	ExchangeJudged bool
}

// ForRequest returns the first discount that applies to a JSON-RPC request
// without a response, or nil.
func ForRequest(f RequestFacts) *Discount { return firstApplicable(requests, f) }
