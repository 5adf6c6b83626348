package logging_test

import (
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/logging"
)

// A tool that is known only by its name has to show that it logs at a level before silence at
// that level counts as a failure.
func TestToolsThatLog(t *testing.T) {
	const (
		sendsAll = "logging.set-level.sends-everything-above"
		kept     = sendsAll + ": The server withholds a log message of an enabled level. (warning)"
	)
	for _, m := range []suitetest.Misbehaviour{
		{Name: "all levels", Case: "logging.levels", Kept: []string{sendsAll}},
		{Name: "never logs", Case: "logging.levels", Seams: silent(func(string, bool) bool { return true })},
		{Name: "never logs, with levels that do not exist", Case: "logging.levels-and-others", Seams: silent(func(string, bool) bool { return true })},
		{Name: "logs at other levels", Case: "logging.levels", Seams: silent(func(level string, _ bool) bool { return level == "alert" }), Kept: []string{sendsAll}},
		{Name: "logs until a level is set", Case: "logging.levels", Seams: silent(func(_ string, set bool) bool { return set }), Want: []string{kept}},
		{Name: "one level until a level is set", Case: "logging.levels", Seams: silent(func(level string, set bool) bool { return set && level == "error" }), Want: []string{kept}},
	} {
		m.Try(t, logging.Cases())
	}
}

// silent suppresses log messages, depending on their level and on whether a level was set.
func silent(when func(level string, set bool) bool) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		set := false
		return refserver.Seams{
			BeforeHandle: func(c *refserver.Call) {
				mu.Lock()
				defer mu.Unlock()
				set = set || c.Method == spec.MethodSetLevel
			},
			Outgoing: func(o *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if o.Kind != refserver.OutNotification || o.Method != spec.MethodMessage {
					return
				}
				if level, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/level")); when(level, set) {
					o.Frames = nil
				}
			},
		}
	}
}
