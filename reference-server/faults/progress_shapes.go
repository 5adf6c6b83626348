package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// progressShapeFaults returns the faults in the shape of progress notifications. Most rows send a
// notification unprompted, so that no tool call is needed. The other rows edit notifications that
// the reference server sends anyway.
func progressShapeFaults() []*Fault {
	const progress = "progress.notification-schema/"
	advances := func(params string) *refserver.Seams { return notifyOnInitialized(spec.MethodProgress, params) }
	return []*Fault{
		newFault(progress+"no-token", "progress has no token", advances(`{"progress":1}`)),
		newFault(progress+"token-null", "progress has the token null", advances(`{"progressToken":null,"progress":1}`)),
		newFault(progress+"token-object", "the token of progress is an object", advances(`{"progressToken":{"id":1},"progress":1}`)),
		newFault(progress+"token-fraction", "the token of progress is a fraction", advances(`{"progressToken":1.5,"progress":1}`)),
		newFault(progress+"no-progress", "progress lacks the member progress", advances(`{"progressToken":"t","total":2}`)),
		newFault(progress+"text", "the member progress is a string", advances(`{"progressToken":"t","progress":"50%"}`)),
		newFault(progress+"null", "the member progress is null", advances(`{"progressToken":"t","progress":null}`)),
		newFault(progress+"total-null", "the total of progress is null", advances(`{"progressToken":"t","progress":1,"total":null}`)),
		newFault(progress+"total-text", "the total of progress is a string", advances(`{"progressToken":"t","progress":1,"total":"2"}`)),
		newFault(progress+"message-object", "the message of progress is an object", advances(`{"progressToken":"t","progress":1,"message":{"text":"x"}}`)).inRevisions(sinceRevision(spec.V20250326)...),
		newFault(progress+"message-null", "the message of progress is null", advances(`{"progressToken":"t","progress":1,"message":null}`)).inRevisions(sinceRevision(spec.V20250326)...),
		newFault(progress+"no-params", "progress has no params", advances("")),
		newFault(progress+"tool", "the progress of a tool is a string", editSentParams(spec.MethodProgress, setValue("progress", "1"))).inRevisions(revisionsWithReadOnlyHint()...),
	}
}

// serverTokenFaults returns the faults in the progress tokens of the server's own
// requests.
func serverTokenFaults() []*Fault {
	asks := func(method, params string) *refserver.Seams { return requestOnInitialized(method, rawJSON(params)) }
	return []*Fault{
		newFault("progress.server-token-type/fraction", "a request of the server has a fraction as progress token", asks(spec.MethodRootsList, `{"_meta":{"progressToken":1.5}}`)),
		newFault("progress.server-token-type/null", "a request of the server has null as progress token", asks(spec.MethodPing, `{"_meta":{"progressToken":null}}`)),
		newFault("progress.server-token-type/object", "a request of the server has an object as progress token", asks(spec.MethodPing, `{"_meta":{"progressToken":{"n":1}}}`)),
	}
}
