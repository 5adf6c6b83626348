package refserver

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// levels are the severities of log messages, mildest first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevel sets the mildest severity that is still sent. Until then
// everything is.
func (c *Call) setLevel() (any, *Error) {
	name, err := c.fields().text("level")
	if err != nil {
		return nil, err
	}
	level := slices.Index(levels, name)
	if level < 0 {
		return nil, invalidParams("level must be one of %v", levels)
	}
	c.Session.levels.Lock()
	c.Session.level = level
	c.Session.levels.Unlock()
	return object{}, nil
}

// log sends a log message if its severity is wanted. No other level is set
// until it is on its way: a milder one must not come behind the answer.
func (c *Call) log(level, text string) {
	c.Session.levels.RLock()
	defer c.Session.levels.RUnlock()
	if slices.Index(levels, level) >= c.Session.level {
		c.Notify(spec.MethodMessage, object{"level": level, "logger": "reference", "data": text})
	}
}
