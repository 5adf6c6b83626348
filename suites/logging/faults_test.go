package logging_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/logging"
)

// TestToolsThatLog checks that a tool that is known only by its name has to show that it logs at a
// level before a missing message of that level counts as a failure.
func TestToolsThatLog(t *testing.T) {
	const sendsAll = "logging.set-level.sends-everything-above"
	for _, m := range []suitetest.Misbehaviour{
		{Name: "all levels", Case: "logging.levels", Kept: []string{sendsAll}},
		{Name: "never logs", Case: "logging.levels", Seams: suppressLevels(func(string) bool { return true })},
		{Name: "never logs, with levels that do not exist", Case: "logging.levels-and-others", Seams: suppressLevels(func(string) bool { return true })},
		{Name: "logs at other levels", Case: "logging.levels", Seams: suppressLevels(func(level string) bool { return level == "alert" }), Kept: []string{sendsAll}},
	} {
		m.Try(t, logging.Cases())
	}
}

// suppressLevels suppresses log messages of some levels.
func suppressLevels(when func(level string) bool) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{Outgoing: func(o *refserver.Out) {
			if o.Kind != refserver.OutNotification || o.Method != spec.MethodMessage {
				return
			}
			if level, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/level")); when(level) {
				o.Frames = nil
			}
		}}
	}
}
