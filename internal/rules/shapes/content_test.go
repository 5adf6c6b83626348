package shapes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

const (
	call, list, get, read = spec.MethodToolsCall, spec.MethodToolsList, spec.MethodPromptsGet, spec.MethodResourcesRead
	resources, templates  = spec.MethodResourcesList, spec.MethodResourcesTemplates
)

// block returns a tool result with one content block, and message a prompt with one.
func block(b string) string   { return `{"content":[` + b + `]}` }
func message(b string) string { return `{"messages":[{"role":"user","content":` + b + `}]}` }

// embedded returns a block with a resource.
func embedded(members string) string { return `{"type":"resource","resource":{` + members + `}}` }

func TestContent(t *testing.T) {
	run(t, []scene{
		{
			name: "text", revision: r24, asked: call, message: block(`{"type":"text","text":"a"}`),
			kept: "tools.call.result-schema content.type.by-revision-2024-11-05",
		},
		{name: "no content", revision: r11, asked: call, message: `{}`, want: "tools.call.result-schema broken"},
		{name: "an empty list", revision: r11, asked: call, message: block(``), kept: "tools.call.result-schema"},
		{name: "a block without text", revision: r11, asked: call, message: block(`{"type":"text"}`), want: "tools.call.result-schema broken"},
		{name: "a type of sampling", revision: r11, asked: call, message: block(`{"type":"tool_use","id":"a","name":"b","input":{}}`), want: "content.type.by-revision-2025-06-18 broken"},
		{name: "an unknown type in a prompt", revision: r03, asked: get, message: message(`{"type":"json"}`), want: "content.type.by-revision-2025-03-26 broken"},
		{name: "a link before there was any", revision: r03, asked: get, message: message(`{"type":"resource_link","uri":"a:b","name":"b"}`), want: "content.type.by-revision-2025-03-26 broken"},
		{
			name: "an image in a prompt", revision: r11, asked: get, message: message(`{"type":"image","data":"aGk=","mimeType":"image/png"}`),
			kept: "content.image.base64 content.image.mime-type-valid content.type.by-revision-2025-06-18 prompts.get.result-schema",
		},
		{name: "the same in a tool's result", revision: r11, asked: call, message: block(`{"type":"image","data":"data:image/png;base64,aGk=","mimeType":"image/png"}`), want: "content.image.base64 warning"},
		{name: "an image of type png", revision: r24, asked: get, message: message(`{"type":"image","data":"aGk=","mimeType":"png"}`), want: "content.image.mime-type-valid broken"},
		{name: "the same in a tool's result", revision: r24, asked: call, message: block(`{"type":"image","data":"aGk=","mimeType":"png"}`), want: "content.image.mime-type-valid warning"},
		{name: "an image that is text", revision: r11, asked: get, message: message(`{"type":"image","data":"aGk=","mimeType":"text/plain"}`), want: "content.image.mime-type-valid warning"},
		{name: "an image without a MIME type", revision: r11, asked: get, message: message(`{"type":"image","data":"aGk="}`), want: "prompts.get.result-schema broken"},
		{name: "a WAVE", revision: r11, asked: call, message: block(`{"type":"audio","data":"UklGRiQAAABXQVZFZm10IA==","mimeType":"audio/x-wav; a=b"}`), kept: "content.data.matches-mime-type"},
		{name: "a WAVE that says to be MP3", revision: r11, asked: get, message: message(`{"type":"audio","data":"UklGRiQAAABXQVZFZm10IA==","mimeType":"audio/mpeg"}`), want: "content.data.matches-mime-type note"},
		{name: "data of a type that is not known", revision: r11, asked: call, message: block(`{"type":"image","data":"/9j/4AAQSkZJRgABAQ==","mimeType":"image/x-own"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"image","data":"?","mimeType":"image/x-own"}`), want: "content.image.base64 warning"},
		{name: "audio", revision: r11, asked: get, message: message(`{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`), kept: "content.audio.base64 content.audio.mime-type-valid"},
		{name: "audio in hexadecimal", revision: r03, asked: get, message: message(`{"type":"audio","data":"0x6869","mimeType":"audio/wav"}`), want: "content.audio.base64 warning"},
		{name: "audio with padding", revision: r03, asked: get, message: message(`{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`), kept: "content.audio.base64"},
		{name: "audio without padding", revision: r03, asked: get, message: message(`{"type":"audio","data":"aGk","mimeType":"audio/wav"}`), want: "content.audio.base64 warning"},
		{name: "audio with line breaks", revision: r03, asked: get, message: message(`{"type":"audio","data":"aGlo\naGlo\n","mimeType":"audio/wav"}`), want: "content.audio.base64 warning"},
		{name: "audio in URL-safe base64", revision: r03, asked: get, message: message(`{"type":"audio","data":"_-_-","mimeType":"audio/wav"}`), want: "content.audio.base64 broken"},
		{name: "the same in a tool's result", revision: r03, asked: call, message: block(`{"type":"audio","data":"_-_-","mimeType":"audio/wav"}`), want: "content.audio.base64 warning"},
		{name: "audio of type wav", revision: r11, asked: get, message: message(`{"type":"audio","data":"aGk=","mimeType":"wav"}`), want: "content.audio.mime-type-valid broken"},
		{name: "the same in a tool's result", revision: r11, asked: call, message: block(`{"type":"audio","data":"aGk=","mimeType":"wav"}`), want: "content.audio.mime-type-valid warning"},
		{name: "audio that is an image", revision: r11, asked: get, message: message(`{"type":"audio","data":"aGk=","mimeType":"image/png"}`), want: "content.audio.mime-type-valid warning"},

		{
			name: "a resource in a prompt", revision: r11, asked: get, message: message(embedded(`"uri":"a:b","mimeType":"text/plain","text":"a"`)),
			kept: "content.prompt-embedded.uri-valid content.prompt-embedded.text-or-blob content.mime-type.syntax",
		},
		{
			name: "a resource in a prompt whose URI the client chose well once, and badly once", revision: r11, kept: "content.prompt-embedded.uri-valid",
			message: chosen(1, "a:b") + "\n" + chosen(2, "b"),
		},
		{
			name: "one that is not what the client chose", revision: r11, want: "content.prompt-embedded.uri-valid broken",
			message: strings.Replace(chosen(1, "a:b")+"\n"+chosen(2, "b"), `"uri":"a:b","mimeType"`, `"uri":"c","mimeType"`, 1),
		},
		{name: "a blob in a prompt that is not base64", revision: r11, asked: get, message: message(embedded(`"uri":"a:b","mimeType":"a/b","blob":"a b"`)), want: "content.prompt-embedded.text-or-blob broken"},
		{name: "a text in a prompt that is a number", revision: r11, asked: get, message: message(embedded(`"uri":"a:b","mimeType":"a/b","text":1`)), want: "prompts.get.result-schema broken"},
		{name: "a resource in a tool's result", revision: r11, asked: call, message: block(embedded(`"uri":"a:b","blob":""`)), kept: "content.embedded.uri-valid content.blob.base64"},
		{name: "a blob in a tool's result that is not base64", revision: r11, asked: call, message: block(embedded(`"uri":"a:b","blob":"a b"`)), want: "content.blob.base64 warning"},
		{name: "both text and blob in a tool's result", revision: r11, asked: call, message: block(embedded(`"uri":"a:b","text":"a","blob":""`))},
		{name: "a link", revision: r06, asked: call, message: block(`{"type":"resource_link","uri":"a:b","name":"b"}`), kept: "content.resource-link.uri-valid"},
		{name: "a link without a name", revision: r06, asked: get, message: message(`{"type":"resource_link","uri":"a:b"}`), want: "prompts.get.result-schema broken"},
		{name: "the MIME type of a link", revision: r06, asked: call, message: block(`{"type":"resource_link","uri":"a:b","name":"b","mimeType":"text"}`), want: "content.mime-type.syntax warning"},

		{
			name: "annotations", revision: r11, asked: call, message: block(`{"type":"text","text":"a","annotations":{"audience":["user","user"],"priority":1,"lastModified":"2025-01-12"}}`),
			kept: "content.annotations.audience-values content.annotations.priority-range content.annotations.last-modified-iso8601",
		},
		{name: "an audience that is not a list", revision: r24, asked: call, message: block(`{"type":"text","text":"a","annotations":{"audience":"user"}}`), want: "content.annotations.audience-values broken"},
		{name: "a priority of ten", revision: r24, asked: resources, message: `{"resources":[{"uri":"a:b","name":"n","annotations":{"priority":10}}]}`, want: "content.annotations.priority-range broken"},
		{name: "annotations that are none", revision: r11, asked: resources, message: `{"resources":[{"uri":"a:b","name":"n","annotations":[]}]}`, want: "resources.list.result-schema broken"},
		{name: "last modified in words", revision: r11, asked: resources, message: `{"resources":[{"uri":"a:b","name":"n","annotations":{"lastModified":"yesterday"}}]}`, want: "content.annotations.last-modified-iso8601 warning"},
		{name: "last modified before there was such a thing", revision: r03, asked: resources, message: `{"resources":[{"uri":"a:b","name":"n","annotations":{"lastModified":"yesterday"}}]}`},
	})
}

func TestIcons(t *testing.T) {
	icon := func(members string) string {
		return `{"resources":[{"uri":"a:b","name":"n","icons":[{` + members + `}]}]}`
	}
	run(t, []scene{
		{
			name: "an icon", revision: r11, asked: resources, message: icon(`"src":"https://example.com/a.png","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"`),
			kept: "content.icons.src-valid-uri content.icons.src-scheme content.icons.sizes-format content.icons.theme content.mime-type.syntax",
		},
		{name: "an icon as data", revision: r11, asked: resources, message: icon(`"src":"data:image/png;base64,aGk="`), kept: "content.icons.src-scheme"},
		{name: "a MIME type that is none", revision: r11, asked: resources, message: icon(`"src":"https://a.b/a.gif","mimeType":"gif"`), want: "content.mime-type.syntax warning"},
		{name: "a path", revision: r11, asked: resources, message: icon(`"src":"/a.png"`), want: "content.icons.src-valid-uri warning"},
		{name: "no src", revision: r11, asked: resources, message: icon(`"sizes":[]`), want: "resources.list.result-schema broken"},
		{name: "sizes that are not a list", revision: r11, asked: resources, message: icon(`"src":"https://a.b","sizes":"48x48"`), want: "resources.list.result-schema broken"},
		{name: "icons before there were any", revision: r06, asked: resources, message: icon(`"theme":"blue"`), kept: "resources.list.result-schema"},
		{
			name: "an icon of the server without a src", revision: r11, asked: spec.MethodInitialize,
			message: `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1","icons":[{"theme":"dark"}]}}`,
			want:    "lifecycle.initialize-result-schema broken",
		},
		{
			name: "a theme of the server's icon", revision: r11, asked: spec.MethodInitialize,
			message: `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1","icons":[{"src":"https://a.b","theme":"blue"}]}}`,
			want:    "content.icons.theme broken",
		},
		{
			name: "an icon of the server", revision: r11, asked: spec.MethodInitialize,
			message: `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1","icons":[{"src":"a.png","sizes":["1"]}]}}`,
			want:    "content.icons.sizes-format warning\ncontent.icons.src-valid-uri warning",
		},
	})
}

// chosen returns a prompts/get request and its result, which embeds a resource with the URI from
// the argument.
func chosen(id int, uri string) string {
	return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"prompts/get","params":{"name":"a","arguments":{"uri":%q}}}`, id, uri) + "\n" +
		fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":%s}`, id, `{"messages":[{"role":"user","content":`+embedded(fmt.Sprintf(`"uri":%q,"mimeType":"text/plain","text":"a"`, uri))+`}]}`)
}
