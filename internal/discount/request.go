package discount

// RequestFacts describe a JSON-RPC request that got no response, after its
// conversation has ended. The zero value is a request that the client sent and
// did not wait for.
type RequestFacts struct {
	// Waited is set if the client waited for a response until the timeout or until the server
	// ended.
	Waited bool
	// Refused is set if the status of the HTTP response refused the
	// request, or there was no connection.
	Refused bool
	// Illegal is set if the request is one that no client may send.
	Illegal bool
	// Irregular is set if the specification does not require a response in this situation: the
	// request was sent before the handshake was complete, after a second initialize, with an id
	// that was used before, or in a batch.
	Irregular bool
	// Disordered is set if the client had broken the order of the
	// handshake.
	Disordered bool
	// Withdrawn is set if the client cancelled the request.
	Withdrawn bool
	// Stopped is set if the client had sent a signal, closed the input or
	// ended the session.
	Stopped bool
	// ServerEnded is set if the server had ended before the request, or ended while the client
	// waited.
	ServerEnded bool
	// Disrupted is set if the server stopped responding at an earlier message that it has to
	// survive; that is judged instead of the missing response.
	Disrupted bool
	// OtherID is set if a response with another id was meant for this
	// request; that is judged instead.
	OtherID bool
	// Unreadable is set if the response may be in a line that cannot be
	// read, which is judged instead.
	Unreadable bool
	// Unread is set if the client did not read a long HTTP response to its
	// end, because it exceeds the limits or did not arrive in time.
	Unread bool
	// AfterIllegal is set if an illegal message was sent before, and the
	// server has not responded to anything since.
	AfterIllegal bool
	// Unsupported is set if the request is a ping and the server does not know that method; that is
	// judged instead.
	Unsupported bool
	// ExchangeJudged is set if the HTTP response ended without the JSON-RPC
	// response; that is judged instead.
	ExchangeJudged bool
}

// ForRequest returns the first discount that applies to a JSON-RPC request
// without a response, or nil.
func ForRequest(f RequestFacts) *Discount { return firstApplicable(requestRows, f) }
