package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// logMessageFaults returns the faults in the shape of log messages and of the results of
// logging/setLevel. Most rows send a message unprompted, so that no tool call is needed. The other
// rows edit messages that the reference server sends anyway.
func logMessageFaults() []*Fault {
	const log = "logging.message.schema/"
	logs := func(params string) *refserver.Seams { return notifyOnInitialized(spec.MethodMessage, params) }
	return []*Fault{
		newFault(log+"warn", "a log message has the level warn", logs(`{"level":"warn","data":"x"}`)),
		newFault(log+"fatal", "a log message has the level fatal", logs(`{"level":"fatal","data":"x"}`)),
		newFault(log+"upper-case", "a log message has the level INFO", logs(`{"level":"INFO","data":"x"}`)),
		newFault(log+"number", "a log message has a number for its level", logs(`{"level":6,"data":"x"}`)),
		newFault(log+"no-level", "a log message has no level", logs(`{"data":"x"}`)),
		newFault(log+"no-data", "a log message has no data", logs(`{"level":"info"}`)),
		newFault(log+"message", "a log message has message instead of data", logs(`{"level":"info","message":"x"}`)),
		newFault(log+"logger-null", "the logger of a log message is null", logs(`{"level":"info","logger":null,"data":"x"}`)),
		newFault(log+"logger-object", "the logger of a log message is an object", logs(`{"level":"info","logger":{"name":"x"},"data":"x"}`)),
		newFault(log+"no-params", "a log message has no params", logs("")),
		newFault(log+"array", "the params of a log message are an array", logs(`["info","x"]`)),
		newFault(log+"meta-null", "the _meta of a log message is null", logs(`{"level":"info","data":"x","_meta":null}`)),
		newFault(log+"tool", "the log messages of a tool have no data", editSentParams(spec.MethodMessage, omitMembers("data"))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("logging.set-level.empty-result/echo", "logging/setLevel returns the level", replaceResult(spec.MethodSetLevel, `{"level":"info"}`)),
		newFault("logging.set-level.empty-result/ok", "logging/setLevel returns ok", replaceResult(spec.MethodSetLevel, `{"ok":true}`)),
	}
}
