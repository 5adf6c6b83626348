package discount

// RequestFacts are what is known of a JSON-RPC request that got no response
// when its conversation is over. The zero value is a request that the client
// sent and did not wait for.
type RequestFacts struct {
	// Waited: the client waited as long as a response may take, or the server
	// ended before.
	Waited bool
	// Refused: the status of the HTTP response refused the request, or there was
	// no connection.
	Refused bool
	// Illegal: no client may send such a request.
	Illegal bool
	// Irregular: the specification does not say that a server responds to a
	// request at this time: before the handshake was complete, after a second
	// initialize, with an id that was used before, in a batch.
	Irregular bool
	// Disordered: the client had broken the order of the handshake.
	Disordered bool
	// Withdrawn: the client cancelled it.
	Withdrawn bool
	// Stopped: the client had sent a signal, closed the input or ended the session.
	Stopped bool
	// ServerEnded: the server had ended, or ended before the wait was over.
	ServerEnded bool
	// Disrupted: something that a server has to survive was sent before, and is
	// judged as what ended it.
	Disrupted bool
	// Mistaken: a response with another id was meant for it, which is judged.
	Mistaken bool
	// Unreadable: the response may be in a line that nobody can read, which is judged.
	Unreadable bool
	// AfterIllegal: something illegal was sent before, and the server responded
	// to nothing since.
	AfterIllegal bool
	// Unsupported: the server knows no ping at all, which is judged by itself.
	Unsupported bool
	// ExchangeJudged: the HTTP response ended without it, which is judged.
	ExchangeJudged bool
}

// ForRequest returns the first discount that applies to a JSON-RPC request
// without a response, or nil.
func ForRequest(f RequestFacts) *Discount { return firstApplicable(requests, f) }
