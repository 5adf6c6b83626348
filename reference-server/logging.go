package refserver

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// levels are the severities of log messages, least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevel handles logging/setLevel. Before the first logging/setLevel, the server sends messages
// of every level.
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

// log sends a log message unless the level that the client has set excludes it. It holds the lock
// of the level while it sends, so that no message below a new level follows the response to
// logging/setLevel.
func (c *Call) log(level, text string) {
	if c.isStateless() {
		if c.wantsLog(level) {
			c.Notify(spec.MethodMessage, logMessage(level, text))
		}
		return
	}
	c.Session.levelMu.RLock()
	defer c.Session.levelMu.RUnlock()
	if slices.Index(levels, level) >= c.Session.level {
		c.Notify(spec.MethodMessage, logMessage(level, text))
	}
}

func logMessage(level, text string) object {
	return object{"level": level, "logger": "reference", "data": text}
}

// wantsLog reports whether a request of a stateless revision gets log messages of the given level:
// the _meta of the request must have a log level that is not more severe than the given one. With
// JSONOnly no request gets log messages.
func (c *Call) wantsLog(level string) bool {
	least, _ := wire.Text(c.meta()[metaLogLevel])
	from := slices.Index(levels, least)
	return from >= 0 && slices.Index(levels, level) >= from && !c.Session.options.JSONOnly
}
