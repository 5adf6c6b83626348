// Package discount lists the reasons for which a request without an ordinary
// response does not count against the server.
//
// Everything that a client sends has to be accounted for: it got a response,
// or a discount of this table applies, or it is a finding. There is nothing
// between: what no discount explains is reported.
package discount

import (
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Facts are what is known of one HTTP request when its conversation is over.
// The zero value is a request that simply got no response.
type Facts struct {
	// Method is that of the HTTP request.
	Method string
	// Status is that of the response, 0 where none came.
	Status int
	// Ended is how the exchange ended, "" where the record ends before it.
	Ended transcript.How
	// Size is the number of bytes in the body of the request.
	Size int64
	// Waited: the client waited as long as a response may take.
	Waited bool
	// ServerEnded: the server had ended, or was told to.
	ServerEnded bool
	// Judged: the JSON-RPC requests in the body have no response, and that is
	// judged there.
	Judged bool
	// Elsewhere: the JSON-RPC responses came on another stream.
	Elsewhere bool
	// Withdrawn: the client cancelled what it had requested.
	Withdrawn bool
	// SessionOver: the session of the request had ended, or was about to.
	SessionOver bool
}

// A Discount is one reason for which something does not count.
type Discount struct {
	// ID is made of words, and stable.
	ID string
	// Reason completes "does not count: ".
	Reason string

	applies func(Facts) bool
}

// largeRequest is the size in bytes beyond which a server may close the
// connection while the request is still being sent (RFC 9110, 15.5.14).
const largeRequest = 256 << 10

// table lists the discounts; the first that applies explains a request.
var table = []Discount{
	{"unreachable", "there was no connection; whether the server still serves anyone is checked separately", func(f Facts) bool {
		return f.Ended == transcript.Unreachable
	}},
	{"server-ended", "the server had ended, which is judged by itself", func(f Facts) bool {
		return f.Status == 0 && f.ServerEnded
	}},
	{"intermediary", "the status is one that a gateway, a proxy, a rate limit or an access check in front of the server sends", func(f Facts) bool {
		return Intermediary(f.Status)
	}},
	{"withdrawn", "the client cancelled the request", func(f Facts) bool {
		return f.Status == 0 && f.Withdrawn
	}},
	{"session-over", "the session of the request was over", func(f Facts) bool {
		return f.Status == 0 && f.SessionOver
	}},
	{"answered-elsewhere", "the JSON-RPC response came on another stream", func(f Facts) bool {
		return f.Status == 0 && f.Elsewhere
	}},
	{"judged-as-request", "the missing JSON-RPC response is judged instead", func(f Facts) bool {
		return f.Status == 0 && f.Judged
	}},
	{"client-closed", "the client closed the connection before a response was due", func(f Facts) bool {
		return f.Status == 0 && (f.Ended == transcript.Dropped || f.Ended == "") && !f.Waited
	}},
	{"event-stream", "the head of an event stream may come with its first event", func(f Facts) bool {
		return f.Status == 0 && f.Ended == transcript.Dropped && f.Method == "GET"
	}},
	{"large-request", "a server may close the connection on a request that is larger than it accepts", func(f Facts) bool {
		return f.Status == 0 && f.Ended == transcript.Broken && f.Size > largeRequest
	}},
}

// Intermediary reports whether a response with this status may come from
// something in front of the server, or depends on who asks and how often.
func Intermediary(status int) bool {
	switch status {
	case 401, 402, 403, 407, 421, 429, 502, 503, 504:
		return true
	}
	return false
}

// All returns the discounts in the order in which they are tried.
func All() []Discount { return append([]Discount(nil), table...) }

// Of returns the first discount that applies, or nil.
func Of(f Facts) *Discount {
	for i := range table {
		if table[i].applies(f) {
			return &table[i]
		}
	}
	return nil
}
