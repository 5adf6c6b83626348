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

// requests lists the discounts of JSON-RPC requests; the first that applies is
// the reason.
var requests = []row[RequestFacts]{
	{Discount{"refused", "the status of the HTTP response is the answer, or there was no connection"}, func(f RequestFacts) bool { return f.Refused }},
	{Discount{"illegal-request", "no client may send such a request, so a server may ignore it"}, func(f RequestFacts) bool { return f.Illegal }},
	{Discount{"irregular-request", "at this time, or with this id, no server has to respond"}, func(f RequestFacts) bool { return f.Irregular }},
	{Discount{"handshake-disordered", "the client had broken the order of the handshake"}, func(f RequestFacts) bool { return f.Disordered }},
	{Discount{"withdrawn", "the client cancelled the request"}, func(f RequestFacts) bool { return f.Withdrawn }},
	{Discount{"other-id", "a response with another id was meant for it, which is judged instead"}, func(f RequestFacts) bool { return f.Mistaken }},
	{Discount{"unreadable-response", "the response may be in a line that cannot be read, which is judged instead"}, func(f RequestFacts) bool { return f.Unreadable }},
	{Discount{"stopped", "the client had closed the input, sent a signal, or ended the session"}, func(f RequestFacts) bool { return f.Stopped }},
	{Discount{"server-gone", "the server had ended, which is judged by itself"}, func(f RequestFacts) bool { return f.ServerEnded }},
	{Discount{"disrupted", "the server stopped at an earlier message that it has to survive, which is judged instead"}, func(f RequestFacts) bool { return f.Disrupted }},
	{Discount{"after-illegal", "the server stopped responding after an illegal message"}, func(f RequestFacts) bool { return f.AfterIllegal }},
	{Discount{"no-ping", "the server does not know ping, which is judged instead"}, func(f RequestFacts) bool { return f.Unsupported }},
	{Discount{"exchange-judged", "the HTTP response ended without it, which is judged instead"}, func(f RequestFacts) bool { return f.ExchangeJudged }},
	{Discount{"not-awaited", "the client did not wait for the response"}, func(f RequestFacts) bool { return !f.Waited }},
}

// ForRequest returns the first discount that applies to a JSON-RPC request
// without a response, or nil.
func ForRequest(f RequestFacts) *Discount { return firstApplicable(requests, f) }
