package discount

import "github.com/mcp-conform/mcp-conform/internal/transcript"

// requestRows lists the discounts of JSON-RPC requests; the first that applies is
// the reason.
var requestRows = []row[RequestFacts]{
	{Discount{"refused", "the status of the HTTP response is the answer, or there was no connection"}, func(f RequestFacts) bool { return f.Refused }},
	{Discount{"illegal-request", "no client may send such a request, so a server may ignore it"}, func(f RequestFacts) bool { return f.Illegal }},
	{Discount{"irregular-request", "a server need not respond to a request at this time, or with this id, such as an id that is already in use"}, func(f RequestFacts) bool { return f.Irregular }},
	{Discount{"handshake-disordered", "the client had broken the order of the handshake"}, func(f RequestFacts) bool { return f.Disordered }},
	{Discount{"withdrawn", "the client cancelled the request"}, func(f RequestFacts) bool { return f.Withdrawn }},
	{Discount{"other-id", "the response came with another id; this mistake is judged instead"}, func(f RequestFacts) bool { return f.OtherID }},
	{Discount{"unreadable-response", "the response may be in a line that cannot be read; that line is judged instead"}, func(f RequestFacts) bool { return f.Unreadable }},
	{Discount{"long-response", "a long response was arriving, and the client did not read it to its end"}, func(f RequestFacts) bool { return f.Unread }},
	{Discount{"stopped", "the client had closed the input, sent a signal, or ended the session"}, func(f RequestFacts) bool { return f.Stopped }},
	{Discount{"server-gone", "the server had ended; its end is judged separately"}, func(f RequestFacts) bool { return f.ServerEnded }},
	{Discount{"disrupted", "the server stopped at an earlier message that it should have survived; this is judged instead"}, func(f RequestFacts) bool { return f.Disrupted }},
	{Discount{"after-illegal", "the server stopped responding after an illegal message"}, func(f RequestFacts) bool { return f.AfterIllegal }},
	{Discount{"no-ping", "the server does not know ping; this mistake is judged instead"}, func(f RequestFacts) bool { return f.Unsupported }},
	{Discount{"exchange-judged", "the HTTP response ended without the JSON-RPC response; this mistake is judged instead"}, func(f RequestFacts) bool { return f.ExchangeJudged }},
	{Discount{"not-awaited", "the client did not wait for the response"}, func(f RequestFacts) bool { return !f.Waited }},
}

// largeRequest is the size in bytes beyond which a server may close the
// connection while the request is still being sent (RFC 9110, 15.5.14).
const largeRequest = 256 << 10

// exchangeRows lists the discounts of HTTP requests; the first that applies is the
// reason.
var exchangeRows = []row[ExchangeFacts]{
	{Discount{"unreachable", "there was no connection; whether the server still serves is checked separately"}, func(f ExchangeFacts) bool {
		return f.Ended == transcript.Unreachable
	}},
	{Discount{"server-ended", "the server had ended; its end is judged separately"}, func(f ExchangeFacts) bool {
		return f.isIncomplete() && f.ServerEnded
	}},
	{Discount{"intermediary", "the status (401, 402, 403, 407, 421, 429, 502, 503 or 504) is one that a gateway, a proxy, a rate limit or an access check in front of the server sends"}, func(f ExchangeFacts) bool {
		return transcript.IsAmbiguousStatus(f.Status)
	}},
	{Discount{"withdrawn", "the client cancelled the request"}, func(f ExchangeFacts) bool {
		return f.isIncomplete() && f.Withdrawn
	}},
	{Discount{"session-over", "the session of the request was over"}, func(f ExchangeFacts) bool {
		return f.isIncomplete() && f.SessionOver
	}},
	{Discount{"answered-elsewhere", "the JSON-RPC response came on another stream"}, func(f ExchangeFacts) bool {
		return f.Status == 0 && f.AnsweredElsewhere
	}},
	{Discount{"judged-as-request", "the missing JSON-RPC response is judged instead"}, func(f ExchangeFacts) bool {
		return f.isIncomplete() && f.Judged
	}},
	{Discount{"client-closed", "the client closed the connection before a response was due"}, func(f ExchangeFacts) bool {
		return f.Status == 0 && (f.Ended == transcript.Dropped || f.Ended == "") && !f.Waited
	}},
	{Discount{"event-stream", "a server may send the head of an event stream only with the first event, and no event came"}, func(f ExchangeFacts) bool {
		return f.Status == 0 && f.Ended == transcript.Dropped && f.Method == "GET"
	}},
	{Discount{"large-request", "a server may close the connection on a request that is larger than it accepts"}, func(f ExchangeFacts) bool {
		return f.isIncomplete() && f.Ended == transcript.Broken && f.Size > largeRequest
	}},
}

// runRows lists the discounts of a run; the strongest effect counts.
func (r *Run) runRows() []runRow {
	return []runRow{
		{Discount{"session-ended", "the server had ended the session, so a missing message shows nothing"}, sessionEnded{}},
		{Discount{"start-unclear", "the server may still have been starting, so a missing message shows nothing"}, startUnclear{}},
		{Discount{"cut-response", "the response was too long to be kept, so the case could not read it"}, cutResponse{}},
		{Discount{"short-wait", "the client waited for less than the timeout, because the server had left an earlier request without a response, and no retry reproduced the deviation"}, shortWait{}},
		{Discount{"held-up", "in a search: an earlier call of a tool got no response either, nor did anything after it; a server may handle requests one by one, and a tool may take any amount of time"}, heldUpRequest{}},
		{Discount{"changed-list", "over HTTP: another conversation may have changed the list; in a search, the client had no subscription that would have announced the change; in a run, a tool was called meanwhile, and no retry reproduced the deviation"}, &unannouncedChange{}},
		{Discount{"flood", "the server sent more than the client reads, so the client may have missed a response"}, r.flood},
		{Discount{"gateway", "something in front of the server responded"}, &gateway{}},
		{Discount{"refused-token", "the server refused a token with status 401 that it accepted later. If it did so for an equal request, that is judged instead; otherwise the deviation counts only if every retry repeats it"}, &refusedToken{}},
		{Discount{"mixed-responses", "clients also receive responses meant for other clients, so it is unknown whose response this is; a notice says so"}, &r.mixing},
		{Discount{"busy", "the error may mean that the server was busy; the deviation counts only if every retry repeats it"}, busyError{}},
		{Discount{"broken-connection", "a connection broke, and it is unknown at which end; the deviation counts only if every retry repeats it"}, brokenConnection{}},
		{Discount{"second-copy", "the server ended before its first message, and another copy of it may have been running; the deviation counts only if every retry repeats it"}, secondCopy{}},
		{Discount{"outage", "by then the server no longer served any client; the run ends"}, &r.outage},
		{Discount{"disturbed-case", "the case shared a process with other cases, and this process exited; the case runs again on its own process"}, sharedExit{}},
		{Discount{"explained-exit", "the server's exit interrupted several cases, and one of these cases alone makes a fresh process exit, too; only that exit is judged, and a notice counts the others"}, &r.exits},
	}
}

// noticeRows lists the observations for notices: they explain no deviation, but the user should
// know about them.
func (r *Run) noticeRows() []noticeRow {
	return []noticeRow{
		{"cut-off-method", "the connection broke at each request of a method", cutoffs{}},
		{"same-error", "each plain request got the same error, or the result {}, so the findings have one cause", r.same},
		{"refused-calls", "no call of a listed tool got a result", refusedCalls{}},
		{"overdue", "the client cancelled a request that got no response in time", r.overdue},
		{"crash", "a process exited with a failure while no request waited for a response; this breaks no requirement", &r.crashes},
	}
}
