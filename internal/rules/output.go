package rules

import "github.com/mcp-conform/mcp-conform/internal/transcript"

// output is what the server wrote, and how it was read.
type output struct {
	// readings maps the last event of each reading to the reading. If the map is nil, each event is
	// read on its own.
	readings map[*transcript.Event]*reading
	// event is the latest Received event, and current is its reading. They are cached because
	// nearly every rule needs the reading.
	event   *transcript.Event
	current *reading
	// unreadable are the lines that can't be read, and so may contain a response.
	unreadable []*reading
}

// reading returns the reading that ends with a Received event; nil if the event is an earlier line
// of a message, or repeats a message over HTTP (see findCopies).
func (o *output) reading(e *transcript.Event) *reading {
	switch {
	case e == o.event:
		return o.current
	case o.readings == nil:
		return interpretLine(e)
	default:
		return o.readings[e]
	}
}

// note records the latest Received event, and returns its reading.
func (o *output) note(e *transcript.Event) *reading {
	o.event, o.current = e, o.reading(e)
	if got := o.current; got != nil && (got.shape == foreign || got.shape == truncated || got.shape == unread) {
		o.unreadable = append(o.unreadable, got)
	}
	return o.current
}

// mayHaveResponse reports whether the response to the request may be in a line that can't be
// read.
func (o *output) mayHaveResponse(req *Request) bool {
	for _, r := range o.unreadable {
		for _, e := range r.events {
			if e.Seq > req.Event.Seq && mentionsID(e.Raw, req.Message.ID) {
				return true
			}
		}
	}
	return false
}
