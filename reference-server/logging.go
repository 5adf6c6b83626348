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
	c.Session.mu.Lock()
	c.Session.level = level
	c.Session.mu.Unlock()
	return object{}, nil
}

// log sends a log message if its severity is wanted.
func (c *Call) log(level, text string) {
	c.Session.mu.Lock()
	threshold := c.Session.level
	c.Session.mu.Unlock()
	if slices.Index(levels, level) >= threshold {
		c.Notify(spec.MethodMessage, object{"level": level, "logger": "reference", "data": text})
	}
}
