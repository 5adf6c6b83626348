package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// notificationShapeFaults are the faults in the notifications of features.
// They are sent unasked, so that no tool has to be called for them; where the
// reference server sends the like by itself, that is altered, too.
func notificationShapeFaults() []Fault {
	const log, progress, updated = "logging.message.schema/", "progress.notification-schema/", "resources.updated.schema/"
	logs := func(params string) refserver.Seams { return tells(spec.MethodMessage, params) }
	advances := func(params string) refserver.Seams { return tells(spec.MethodProgress, params) }
	updates := func(params string) refserver.Seams { return tells(spec.MethodResourcesUpdated, params) }
	return []Fault{
		breaks(log+"warn", "a log message has the level warn", logs(`{"level":"warn","data":"x"}`)),
		breaks(log+"fatal", "a log message has the level fatal", logs(`{"level":"fatal","data":"x"}`)),
		breaks(log+"upper-case", "a log message has the level INFO", logs(`{"level":"INFO","data":"x"}`)),
		breaks(log+"number", "a log message has a number for its level", logs(`{"level":6,"data":"x"}`)),
		breaks(log+"no-level", "a log message has no level", logs(`{"data":"x"}`)),
		breaks(log+"no-data", "a log message has no data", logs(`{"level":"info"}`)),
		breaks(log+"message", "a log message has a message instead of data", logs(`{"level":"info","message":"x"}`)),
		breaks(log+"logger-null", "the logger of a log message is null", logs(`{"level":"info","logger":null,"data":"x"}`)),
		breaks(log+"logger-object", "the logger of a log message is an object", logs(`{"level":"info","logger":{"name":"x"},"data":"x"}`)),
		breaks(log+"no-params", "a log message has no params", logs("")),
		breaks(log+"array", "the params of a log message are an array", logs(`["info","x"]`)),
		breaks(log+"meta-null", "the _meta of a log message is null", logs(`{"level":"info","data":"x","_meta":null}`)),
		breaks(log+"tool", "the log messages of a tool have no data", sent(spec.MethodMessage, leaveOut("data"))).in(callable()...),

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

		breaks(updated+"no-params", "an update has no params", updates("")),
		breaks(updated+"no-uri", "an update names no URI", updates("{}")),
		breaks(updated+"uri-null", "an update names the URI null", updates(`{"uri":null}`)),
		breaks(updated+"uris", "an update names several URIs", updates(`{"uri":["demo://note","demo://roots"]}`)),
		breaks(updated+"resource", "an update holds a resource instead of a URI", updates(`{"resource":{"uri":"demo://note"}}`)),
	}
}

// openingShapeFaults are the faults in the answer to initialize, beside those
// that need no schema to be seen.
func openingShapeFaults() []Fault {
	const opening = "lifecycle.initialize-result-schema/"
	answer := func(e edit) refserver.Seams { return EditResult(spec.MethodInitialize, e) }
	server := func(e edit) refserver.Seams { return answer(inside("serverInfo", e)) }
	able := func(name string, value any) refserver.Seams { return answer(inside("capabilities", put(name, value))) }
	return []Fault{
		breaks(opening+"title-null", "the server's title is null", server(put("title", nil))).in(from(spec.V20250618)...),
		breaks(opening+"title-object", "the server's title is an object by language", server(put("title", map[string]any{"en": "Server"}))).in(from(spec.V20250618)...),
		breaks(opening+"icons-object", "the server's icons are one object", server(put("icons", raw(`{"src":"https://example.com/i.png"}`)))).in(spec.V20251125),
		breaks(opening+"icon-no-source", "the server's icon has no source", iconed(spec.MethodInitialize, leaveOut("src"))).in(spec.V20251125),
		breaks(opening+"website-null", "the server's website is null", server(put("websiteUrl", nil))).in(spec.V20251125),
		breaks(opening+"description-array", "the server's description is an array of lines", server(put("description", []any{"One.", "Two."}))).in(spec.V20251125),
		breaks(opening+"experimental-array", "the experimental capabilities are an array", able("experimental", []any{"x"})),
		breaks(opening+"experimental-flag", "an experimental capability is true", able("experimental", map[string]any{"com.example/x": true})),
		breaks(opening+"completions-true", "the capability completions is true", able("completions", true)).in(from(spec.V20250326)...),
		breaks(opening+"prompts-null", "the capability prompts is null", able("prompts", nil)),
		breaks(opening+"flag-null", "the flag listChanged is null", able("resources", map[string]any{"subscribe": true, "listChanged": nil})),
		breaks(opening+"meta-array", "the _meta of the answer to initialize is an array", answer(put("_meta", []any{}))),
	}
}
