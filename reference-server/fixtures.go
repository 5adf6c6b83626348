package refserver

import (
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The official conformance suite expects tools, resources and prompts with certain
// names. This file, fixtures_asking.go and fixtures_input.go define them; Options.Fixtures
// enables them.

// fixturePause is the pause between messages that the suite recommends.
const fixturePause = 50 * time.Millisecond

// fixtureTools returns the tools that the official suite calls.
func fixtureTools() []*tool {
	contentTool := func(name, title string, blocks ...object) *tool {
		return &tool{
			name: name, title: title, description: "For the official conformance suite: " + title + ".",
			run: func(*Call, values) object { return object{"content": blocks} },
		}
	}
	return append([]*tool{
		contactTool, // first, because the suite reads only the first page of the list
		{
			name: "test_header", title: "An argument in a header", since: spec.V20260728,
			description: "For the official conformance suite: a header repeats its argument.",
			input:       []argument{{name: "region", kind: "string", description: "A text", header: "Region"}},
			run:         func(*Call, values) object { return textResult("The headers match.") },
		},
		contentTool("test_simple_text", "One block of text", textBlock("A text for trying things out.")),
		contentTool("test_image_content", "One image", imageBlock()),
		contentTool("test_audio_content", "One sound", audioBlock()),
		contentTool("test_embedded_resource", "One embedded resource", resourceBlock(staticText.contents())),
		contentTool("test_multiple_content_types", "Text, an image and a resource",
			textBlock("Three kinds of content."), imageBlock(), resourceBlock(staticText.contents())),
		{
			name: "test_error_handling", title: "A failure", description: "For the official conformance suite: always fails.",
			run: func(*Call, values) object { return errorResult("This tool fails, as it should.") },
		},
		{
			name: "test_tool_with_logging", title: "Three log messages", needsSession: true, description: "For the official conformance suite: logs what it does.",
			run: func(c *Call, _ values) object {
				for i, text := range []string{"Begun.", "Half done.", "Done."} {
					if i > 0 && !c.pause(fixturePause) {
						break
					}
					c.log("info", text)
				}
				return textResult("Three messages were logged.")
			},
		},
		{
			name: "test_tool_with_progress", title: "Three steps of progress", description: "For the official conformance suite: reports how far it is.",
			run: func(c *Call, _ values) object {
				for done := 0; done <= 100; done += 50 {
					if done > 0 && !c.pause(fixturePause) {
						break
					}
					c.sendProgress(done, 100, fmt.Sprintf("%d percent", done))
				}
				return textResult("All steps are done.")
			},
		},
		{
			name: "test_reconnection", title: "A stream that breaks off", since: spec.V20251125, until: spec.V20251125,
			description: "For the official conformance suite: closes the connection of its call, and the client resumes the stream.",
			run: func(c *Call, _ values) object {
				if c.Session.closeConnection != nil {
					c.Session.closeConnection(c.ctx, c.ID)
				}
				return textResult("You came back.")
			},
		},
	}, append(markNeedsSession(fixtureClientTools()), fixtureInputTools()...)...)
}

// pause waits for d and returns true, or returns false as soon as the call ends.
func (c *Call) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.ctx.Done():
		return false
	}
}

var staticText = &resource{uri: "test://static-text", name: "static-text", title: "A text", mime: "text/plain", text: "A text that never changes."}

var fixtureResources = []*resource{
	staticText,
	{uri: "test://static-binary", name: "static-binary", title: "One pixel", mime: "image/png", blob: dotPNG},
	{uri: "test://watched-resource", name: "watched-resource", title: "A text to subscribe to", mime: "text/plain", text: "Nothing has happened yet."},
}

var fixtureTemplates = []*template{{
	uri: "test://template/{id}/data", name: "template-data", title: "Data by id", mime: "application/json",
	read: func(v map[string]string) (string, bool) { return fmt.Sprintf(`{"id":%q}`, v["id"]), true },
}}

var fixturePrompts = []*prompt{
	{
		name: "test_simple_prompt", title: "A prompt", description: "For the official conformance suite: one message.",
		messages: fixedMessages(promptMessage("user", textBlock("Say a word."))),
	},
	{
		name: "test_prompt_with_arguments", title: "A prompt with arguments", description: "For the official conformance suite: shows its arguments.",
		arguments: []promptArgument{
			{name: "arg1", title: "First", description: "A text", required: true, values: []string{"test", "tests", "toast"}},
			{name: "arg2", title: "Second", description: "Another text", required: true},
		},
		messages: func(_ *Call, v map[string]string) []object {
			return []object{promptMessage("user", textBlock(fmt.Sprintf("The first is %q, the second %q.", v["arg1"], v["arg2"])))}
		},
	},
	{
		name: "test_prompt_with_embedded_resource", title: "A prompt with a resource", description: "For the official conformance suite: embeds a resource.",
		arguments: []promptArgument{{name: "resourceUri", title: "URI", description: "The URI that the resource shall have", required: true, isURI: true}},
		messages: func(_ *Call, v map[string]string) []object {
			r := resource{uri: v["resourceUri"], mime: staticText.mime, text: staticText.text}
			return []object{promptMessage("user", resourceBlock(r.contents())), promptMessage("user", textBlock("What is this about?"))}
		},
	},
	{
		name: "test_prompt_with_image", title: "A prompt with an image", description: "For the official conformance suite: shows an image.",
		messages: fixedMessages(promptMessage("user", imageBlock()), promptMessage("user", textBlock("What do you see?"))),
	},
	{
		name: "test_input_required_result_prompt", title: "A prompt that asks", since: spec.V20260728,
		description: "For the official conformance suite: asks the user for a context.",
		messages: func(c *Call, _ map[string]string) []object {
			result, err := c.SendRequest(spec.MethodElicit, elicitationOf(c, "What context should the prompt use?", contextField))
			if err != nil {
				return []object{promptMessage("user", textBlock("Continue without a context."))}
			}
			context, _ := wire.Text(wire.At(result, "/content/context"))
			return []object{promptMessage("user", textBlock("Continue in this context: "+context))}
		},
	},
}
