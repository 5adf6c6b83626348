package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// progressShapeFaults are the faults in the shape of progress notifications.
// They are sent unasked, so that no tool has to be called for them; where the
// reference server sends the like by itself, that is altered, too.
func progressShapeFaults() []Fault {
	const progress = "progress.notification-schema/"
	advances := func(params string) refserver.Seams { return tells(spec.MethodProgress, params) }
	return []Fault{
		breaks(progress+"no-token", "progress has no token", advances(`{"progress":1}`)),
		breaks(progress+"token-null", "progress has the token null", advances(`{"progressToken":null,"progress":1}`)),
		breaks(progress+"token-object", "progress has an object for its token", advances(`{"progressToken":{"id":1},"progress":1}`)),
		breaks(progress+"token-fraction", "progress has a fraction for its token", advances(`{"progressToken":1.5,"progress":1}`)),
		breaks(progress+"no-progress", "progress does not say how much", advances(`{"progressToken":"t","total":2}`)),
		breaks(progress+"text", "progress is a string", advances(`{"progressToken":"t","progress":"50%"}`)),
		breaks(progress+"null", "progress is null", advances(`{"progressToken":"t","progress":null}`)),
		breaks(progress+"total-null", "the total of progress is null", advances(`{"progressToken":"t","progress":1,"total":null}`)),
		breaks(progress+"total-text", "the total of progress is a string", advances(`{"progressToken":"t","progress":1,"total":"2"}`)),
		breaks(progress+"message-object", "the message of progress is an object", advances(`{"progressToken":"t","progress":1,"message":{"text":"x"}}`)).in(from(spec.V20250326)...),
		breaks(progress+"message-null", "the message of progress is null", advances(`{"progressToken":"t","progress":1,"message":null}`)).in(from(spec.V20250326)...),
		breaks(progress+"no-params", "progress has no params", advances("")),
		breaks(progress+"tool", "the progress of a tool is a string", sent(spec.MethodProgress, put("progress", "1"))).in(callable()...),
	}
}

// serverTokenFaults are the faults in the progress tokens of the server's own requests.
func serverTokenFaults() []Fault {
	asks := func(method, params string) refserver.Seams { return asksWhenReady(method, raw(params)) }
	return []Fault{
		breaks("progress.server-token-type/fraction", "a request of its own has a fraction for its progress token", asks(spec.MethodRootsList, `{"_meta":{"progressToken":1.5}}`)),
		breaks("progress.server-token-type/null", "a request of its own has the progress token null", asks(spec.MethodPing, `{"_meta":{"progressToken":null}}`)),
		breaks("progress.server-token-type/object", "a request of its own has an object for its progress token", asks(spec.MethodPing, `{"_meta":{"progressToken":{"n":1}}}`)),
	}
}
