package refserver

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A prompt is a template for messages to a model.
type prompt struct {
	name, title, description string
	since                    spec.Revision // the first revision that has it
	arguments                []promptArgument
	messages                 func(c *Call, values map[string]string) []object
}

type promptArgument struct {
	name, title, description string
	required                 bool
	isURI                    bool     // its value must be a URI
	values                   []string // for completion
}

func promptMessage(role string, content object) object {
	return object{"role": role, "content": content}
}

func fixedMessages(messages ...object) func(*Call, map[string]string) []object {
	return func(*Call, map[string]string) []object { return messages }
}

var extraPrompt = &prompt{
	name: "extra", title: "Comes and goes", description: "Listed after trigger-list-changed.",
	messages: fixedMessages(promptMessage("user", textBlock("You found me."))),
}

var prompts = []*prompt{
	{
		name: "hello", title: "Hello", description: "A prompt without arguments.",
		messages: fixedMessages(promptMessage("user", textBlock("Say hello."))),
	},
	{
		name: "greeting", title: "Greeting", description: "Greets someone in a style.",
		arguments: []promptArgument{
			{name: "name", title: "Name", description: "Whom to greet", required: true, values: []string{"Ada", "Alan", "Grace"}},
			{name: "style", title: "Style", description: "How to greet", values: []string{"formal", "friendly", "funny"}},
		},
		messages: func(_ *Call, v map[string]string) []object {
			style := v["style"]
			if style == "" {
				style = "friendly"
			}
			return []object{promptMessage("user", textBlock(fmt.Sprintf("Greet %s in a %s way.", v["name"], style)))}
		},
	},
	{
		name: "conversation", title: "Conversation", description: "Messages of both roles.",
		messages: fixedMessages(promptMessage("user", textBlock("What is two and two?")), promptMessage("assistant", textBlock("Four."))),
	},
	{
		name: "picture", title: "Picture", description: "A prompt with an image.",
		messages: fixedMessages(promptMessage("user", imageBlock())),
	},
	{
		name: "document", title: "Document", description: "A prompt with an embedded resource.",
		messages: fixedMessages(promptMessage("user", resourceBlock(helloResource.contents())), promptMessage("user", textBlock("Sum it up."))),
	},
	{
		name: "sound", title: "Sound", description: "A prompt with audio.", since: spec.V20250326,
		messages: fixedMessages(promptMessage("user", audioBlock())),
	},
	{
		name: "everything", title: "Everything", description: "A prompt with one content block of every type.",
		messages: func(c *Call, _ map[string]string) []object {
			var out []object
			for _, block := range allContentBlocks(c.Revision) {
				out = append(out, promptMessage("user", block))
			}
			return out
		},
	},
	{
		name: "introduction", title: "Introduction", description: "Asks the user for a name, and introduces them.", since: spec.V20260728,
		messages: askName,
	},
}

// askName returns a message with the name that the user enters, if any.
func askName(c *Call, _ map[string]string) []object {
	result, err := c.SendRequest(spec.MethodElicit, object{
		"message": "The introduction prompt would like to know your name.",
		"requestedSchema": object{
			"type": "object", "properties": object{"name": object{"type": "string", "title": "Name"}}, "required": []string{"name"},
		},
	})
	if err != nil {
		return nil // the result is discarded
	}
	text := "I would rather not say who I am."
	if name, ok := wire.Text(wire.At(result, "/content/name")); ok {
		text = "My name is " + name + "."
	}
	return []object{promptMessage("user", textBlock(text))}
}

// prompts returns the prompts that the server lists.
func (c *Call) prompts() []*prompt {
	offer := prompts
	if c.Session.options.Fixtures {
		offer = slices.Concat(prompts, fixturePrompts)
	}
	var out []*prompt
	for _, p := range offer {
		if c.Revision.AtLeast(p.since) {
			out = append(out, p)
		}
	}
	if c.offer().showsExtraItem("prompts") {
		out = append(out, extraPrompt)
	}
	return out
}

func (c *Call) prompt(name string) *prompt {
	for _, p := range c.prompts() {
		if p.name == name {
			return p
		}
	}
	return nil
}

func (c *Call) promptsList() (any, *Error) {
	return listPage(c, "prompts", c.prompts(), func(p *prompt) object {
		o := object{"name": p.name, "description": p.description}
		addTitleAndIcons(o, c.Revision, p.title)
		var arguments []object
		for _, a := range p.arguments {
			argument := object{"name": a.name, "description": a.description, "required": a.required}
			if c.Revision.AtLeast(spec.V20250618) {
				argument["title"] = a.title
			}
			arguments = append(arguments, argument)
		}
		if arguments != nil {
			o["arguments"] = arguments
		}
		return o
	})
}

func (c *Call) promptsGet() (any, *Error) {
	f := c.fields()
	name, err := f.requiredString("name")
	if err != nil {
		return nil, err
	}
	p := c.prompt(name)
	if p == nil {
		return nil, invalidParams("there is no such prompt")
	}
	given, err := f.optionalObject("arguments")
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for key, raw := range given {
		v, ok := wire.Text(raw)
		if !ok {
			return nil, invalidParams("the values of arguments must be strings")
		}
		values[key] = v
	}
	for _, a := range p.arguments {
		v, ok := values[a.name]
		switch {
		case a.required && !ok:
			return nil, invalidParams("the argument %s is required", a.name)
		case ok && a.isURI && !isURI(v):
			return nil, invalidParams("the argument %s must be an absolute URI", a.name)
		}
	}
	return object{"description": p.description, "messages": p.messages(c, values)}, nil
}
