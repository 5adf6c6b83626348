package refserver

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// allTools returns the tools that do not depend on Options, of all revisions and in the order
// of the list. extraTool is not among them.
var allTools = sync.OnceValue(func() []*tool {
	return slices.Concat(plainTools(), routingTools(), markNeedsSession(effectTools()), markNeedsSession(clientTools()), markNeedsSession(taskTools()))
})

// plainTools returns the tools without side effects.
func plainTools() []*tool {
	return []*tool{
		{
			name: "echo", title: "Echo", description: "Returns the text it is given.",
			input: []argument{{name: "text", kind: "string", description: "The text", required: true}},
			tasks: taskOptional,
			run:   func(_ *Call, a values) object { return textResult(a["text"].(string)) },
		},
		{
			name: "add", title: "Add", description: "Adds two numbers.",
			input: []argument{
				{name: "a", kind: "number", description: "The first number", required: true},
				{name: "b", kind: "number", description: "The second number", required: true},
			},
			output: numberSchema("sum"), tasks: taskForbidden,
			run: func(c *Call, a values) object {
				return numericResult(c, "sum", a["a"].(float64)+a["b"].(float64))
			},
		},
		{
			name: "distance", title: "Distance", description: "Measures the distance between two points in the plane.",
			input: []argument{
				{name: "from", kind: "point", description: "One point", required: true},
				{name: "to", kind: "point", description: "The other point", required: true},
			},
			output: numberSchema("distance"),
			run: func(c *Call, a values) object {
				p, q := a["from"].([2]float64), a["to"].([2]float64)
				return numericResult(c, "distance", math.Hypot(p[0]-q[0], p[1]-q[1]))
			},
		},
		{
			name: "content", title: "Every content", description: "Returns one content block of every type.",
			run: func(c *Call, _ values) object { return object{"content": allContentBlocks(c.Revision)} },
		},
		{
			name: "show-meta", title: "Show _meta", description: "Returns the _meta that it was called with, and adds one of its own.", hasMeta: true,
			run: runShowMeta,
		},
		{
			name: "fail", title: "Fail", description: "Always fails.", tasks: taskOptional,
			run: func(*Call, values) object {
				return errorResult("This tool always fails; no change of the arguments helps.")
			},
		},
		{
			name: "slow", title: "Slow", description: "Takes some time, reports progress and can be cancelled.",
			input: []argument{
				{name: "durationMs", kind: "integer", description: "How long it takes, in milliseconds", defaultValue: 100, max: 60_000},
				{name: "steps", kind: "integer", description: "In how many steps", defaultValue: 4, min: 1, max: 100},
				{name: "total", kind: "boolean", description: "Whether progress includes the number of steps", defaultValue: true},
			},
			tasks: taskOptional, run: runSlow,
		},
	}
}

// effectTools returns the tools that change the session or send notifications.
func effectTools() []*tool {
	return []*tool{
		{
			name: "log", title: "Log", description: "Sends log messages: one of the level, or one of each.",
			input: []argument{
				{name: "level", kind: "string", description: "The level; all eight when absent", oneOf: levels},
				{name: "text", kind: "string", description: "The message", defaultValue: "A message from the log tool."},
			},
			tasks: taskOptional, run: runLog,
		},
		{
			name: "trigger-list-changed", title: "Change a list", description: "Shows or hides the last item of a list, and sends list_changed.",
			input: []argument{{
				name: "list", kind: "string", description: "The list", defaultValue: "tools",
				oneOf: []string{"tools", "resources", "prompts"},
			}},
			writes: true, run: runChangeList,
		},
		{
			name: "update-resource", title: "Update a resource", description: "Changes the text of " + noteURI + ".",
			input:  []argument{{name: "text", kind: "string", description: "The new text", defaultValue: "The note was changed."}},
			writes: true, idempotent: true,
			run: func(c *Call, a values) object {
				c.setNote(a["text"].(string))
				return textResult("Changed " + noteURI + ".")
			},
		},
	}
}

var extraTool = &tool{
	name: "extra", title: "Comes and goes", description: "Listed after trigger-list-changed.",
	run: func(*Call, values) object { return textResult("You found me.") },
}

// numberedTools returns n tools, for a long list.
func numberedTools(n int) []*tool {
	out := make([]*tool, n)
	for i := range out {
		number := strconv.Itoa(i + 1)
		out[i] = &tool{
			name: "numbered-" + number, title: "Tool number " + number, bare: true, description: "Returns the number of the tool, and the text it is given.",
			input: []argument{{name: "text", kind: "string", description: "The text", defaultValue: "none"}},
			run:   func(_ *Call, a values) object { return textResult(number + ": " + a["text"].(string)) },
		}
	}
	return out
}

func numberSchema(name string) object {
	return object{"type": "object", "properties": object{name: object{"type": "number"}}, "required": []string{name}}
}

// numericResult returns a result with one number, as text and, if the revision defines it, as
// structured content. For an infinite number it returns an error result.
func numericResult(c *Call, name string, x float64) object {
	if math.IsInf(x, 0) {
		return errorResult("The " + name + " is too large for a number.")
	}
	value := object{name: x}
	text, _ := json.Marshal(value) // encoding a finite number can't fail
	o := textResult(string(text))
	if c.Revision.AtLeast(spec.V20250618) {
		o["structuredContent"] = value
	}
	return o
}

func runShowMeta(c *Call, _ values) object {
	given := wire.At(c.Params, "/_meta")
	if given == nil {
		return withMeta(textResult("The call has no _meta."))
	}
	return withMeta(textResult(string(given)))
}

func runSlow(c *Call, a values) object {
	duration := time.Duration(a["durationMs"].(int)) * time.Millisecond
	steps := a["steps"].(int)
	total, message := 0, "Step %d"
	if a["total"] == true {
		total, message = steps, "Step %d of "+strconv.Itoa(steps)
	}
	for i := range steps {
		select {
		case <-time.After(duration / time.Duration(steps)):
			c.sendProgress(i+1, total, fmt.Sprintf(message, i+1))
		case <-c.ctx.Done():
			return errorResult("Cancelled.") // the result is discarded
		}
	}
	return textResult(fmt.Sprintf("Done after %d steps.", steps))
}

func runLog(c *Call, a values) object {
	wanted := levels
	if level, ok := a["level"].(string); ok {
		wanted = []string{level}
	}
	for _, level := range wanted {
		c.log(level, a["text"].(string))
	}
	return textResult("Logged.")
}

func runChangeList(c *Call, a values) object {
	list := a["list"].(string)
	c.offer().toggleExtra(list)
	if c.isStateless() {
		c.offer().subscribers.publishList(list)
	} else {
		c.Notify("notifications/"+list+"/list_changed", nil)
	}
	return textResult("Changed the list of " + list + ".")
}
