package refserver

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// levels are the severities of log messages, mildest first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevel handles logging/setLevel. Before the first such request the server sends
// messages of every level.
func (c *Call) setLevel() (any, *Error) {
	name, err := c.fields().requiredString("level")
	if err != nil {
		return nil, err
	}
	level := slices.Index(levels, name)
	if level < 0 {
		return nil, invalidParams("level must be one of %v", levels)
	}
	c.Session.levelMu.Lock()
	c.Session.level = level
	c.Session.levelMu.Unlock()
	return object{}, nil
}

// log sends a log message if the level permits it. The lock is held while it is
// sent, so that no less severe message follows the response to logging/setLevel.
func (c *Call) log(level, text string) {
	c.Session.levelMu.RLock()
	defer c.Session.levelMu.RUnlock()
	if slices.Index(levels, level) >= c.Session.level {
		c.Notify(spec.MethodMessage, object{"level": level, "logger": "reference", "data": text})
	}
}
