package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// logMessageFaults are the faults in the shape of log messages.
// They are sent unasked, so that no tool has to be called for them; where the
// reference server sends the like by itself, that is altered, too.
func logMessageFaults() []Fault {
	const log = "logging.message.schema/"
	logs := func(params string) refserver.Seams { return tells(spec.MethodMessage, params) }
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
		breaks("logging.set-level.empty-result/echo", "logging/setLevel gets the level back", replaceResult(spec.MethodSetLevel, `{"level":"info"}`)),
		breaks("logging.set-level.empty-result/ok", "logging/setLevel gets an ok", replaceResult(spec.MethodSetLevel, `{"ok":true}`)),
	}
}
