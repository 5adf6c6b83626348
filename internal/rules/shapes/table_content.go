package shapes

import (
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func kinds(k ...schema.Kind) []schema.Kind { return k }

// anyBlock are the types of content blocks.
const anyBlock = "TextContent ImageContent AudioContent ResourceLink EmbeddedResource"

// contentRows are those of what stands inside messages of several sorts:
// content blocks, annotations, icons.
func contentRows() []row {
	const (
		call, get, read, sampling = spec.MethodToolsCall, spec.MethodPromptsGet, spec.MethodResourcesRead, spec.MethodSampling
		// Of tools' results the pages have no MUST, nor of sampling.
		lesser    = call + " " + sampling
		byType    = "content.type.by-revision-2024-11-05 content.type.by-revision-2025-03-26 content.type.by-revision-2025-06-18"
		badBase64 = "The data of an image is no base64."
		badSound  = "The data of audio is no base64."
		badImage  = "The MIME type of an image is none."
		badAudio  = "The MIME type of audio is none."

		// RFC 4648 has decoders refuse both, and many decoders read both.
		looseBase64 = "Base64 has line breaks, or lacks its padding."
	)
	return []row{
		{
			in: call, place: "CallToolResult.content.*.type", kinds: kinds(schema.WrongWord), on: byType, came: anyBlock,
			summary: "A tool's result has content of a type that the revision does not have.",
		},
		{
			in: get, place: "PromptMessage.content.type", kinds: kinds(schema.WrongWord), on: byType, came: anyBlock,
			summary: "A prompt's message has content of a type that the revision does not have.",
		},

		{in: get, place: "ImageContent.data", kinds: kinds(schema.NotBase64), on: "content.image.base64", summary: badBase64},
		{in: call, place: "ImageContent.data", kinds: kinds(schema.NotBase64), on: "content.image.base64", summary: badBase64, weight: verdict.AtMostWarning},
		{in: get, place: "AudioContent.data", kinds: kinds(schema.NotBase64), on: "content.audio.base64", summary: badSound},
		{in: call, place: "AudioContent.data", kinds: kinds(schema.NotBase64), on: "content.audio.base64", summary: badSound, weight: verdict.AtMostWarning},
		{
			in: sampling, place: "ImageContent.data AudioContent.data", kinds: kinds(schema.NotBase64), on: "sampling.message.media-base64",
			summary: "The data of a block in a sampling message is no base64.",
		},
		{in: get + " " + call, place: "ImageContent.data", kinds: kinds(schema.LooseBase64), on: "content.image.base64", summary: looseBase64, weight: verdict.AtMostWarning},
		{in: get + " " + call, place: "AudioContent.data", kinds: kinds(schema.LooseBase64), on: "content.audio.base64", summary: looseBase64, weight: verdict.AtMostWarning},
		{in: sampling, place: "ImageContent.data AudioContent.data", kinds: kinds(schema.LooseBase64), on: "sampling.message.media-base64", summary: looseBase64, weight: verdict.AtMostWarning},
		{in: get, place: "BlobResourceContents.blob", kinds: kinds(schema.LooseBase64), on: "content.prompt-embedded.text-or-blob", summary: looseBase64, weight: verdict.AtMostWarning},
		{in: read, place: "BlobResourceContents.blob", kinds: kinds(schema.LooseBase64), on: "resources.read.blob-base64", summary: looseBase64, weight: verdict.AtMostWarning},
		{in: lesser, place: "BlobResourceContents.blob", kinds: kinds(schema.LooseBase64), on: "content.blob.base64", summary: looseBase64, weight: verdict.AtMostWarning},
		{in: get, place: "ImageContent.mimeType", kinds: kinds(schema.NotMIME), on: "content.image.mime-type-valid", summary: badImage},
		{in: lesser, place: "ImageContent.mimeType", kinds: kinds(schema.NotMIME), on: "content.image.mime-type-valid", summary: badImage, weight: verdict.AtMostWarning},
		{
			in: get + " " + lesser, place: "ImageContent.mimeType", kinds: kinds(schema.OtherMIME), on: "content.image.mime-type-valid",
			summary: "The MIME type of an image is that of something else.", weight: verdict.AtMostWarning,
		},
		{in: get, place: "AudioContent.mimeType", kinds: kinds(schema.NotMIME), on: "content.audio.mime-type-valid", summary: badAudio},
		{in: lesser, place: "AudioContent.mimeType", kinds: kinds(schema.NotMIME), on: "content.audio.mime-type-valid", summary: badAudio, weight: verdict.AtMostWarning},
		{
			in: get + " " + lesser, place: "AudioContent.mimeType", kinds: kinds(schema.OtherMIME), on: "content.audio.mime-type-valid",
			summary: "The MIME type of audio is that of something else.", weight: verdict.AtMostWarning,
		},

		{
			in: get + " " + lesser, place: "ImageContent AudioContent", kinds: kinds(schema.OtherBytes), on: "content.data.matches-mime-type",
			came: "ImageContent.data AudioContent.data", summary: "Data is of another format than its MIME type says.",
		},

		{
			in: get, place: "ResourceContents.uri", kinds: kinds(schema.NotURI), on: "content.prompt-embedded.uri-valid",
			summary: "A resource embedded in a prompt has no valid URI.",
		},
		{
			in: get, place: "ResourceContents", kinds: kinds(schema.TextAndBlob), on: "content.prompt-embedded.text-or-blob",
			summary: "A resource embedded in a prompt has both text and a blob.",
		},
		{
			in: get, place: "ResourceContents", kinds: kinds(schema.Missing), on: "content.prompt-embedded.text-or-blob", when: isWhole,
			summary: "A resource embedded in a prompt has neither text nor a blob.",
		},
		{
			in: get, place: "BlobResourceContents.blob", kinds: kinds(schema.NotBase64), on: "content.prompt-embedded.text-or-blob",
			summary: "The blob of a resource embedded in a prompt is no base64.",
		},
		{
			in: read, place: "ResourceContents", kinds: kinds(schema.TextAndBlob), on: "resources.read.text-or-blob",
			summary: "What is read of a resource is both text and a blob.",
		},
		{
			in: read, place: "BlobResourceContents.blob", kinds: kinds(schema.NotBase64), on: "resources.read.blob-base64",
			summary: "The blob of a resource is no base64.",
		},
		{
			in: lesser, place: "BlobResourceContents.blob", kinds: kinds(schema.NotBase64), on: "content.blob.base64",
			summary: "The blob of an embedded resource is no base64.",
		},
		{
			in: lesser, place: "ResourceContents.uri", kinds: kinds(schema.NotURI), on: "content.embedded.uri-valid",
			summary: "A resource embedded in a tool's result has no valid URI.",
		},
		{
			place: "ResourceLink.uri", kinds: kinds(schema.NotURI), on: "content.resource-link.uri-valid",
			summary: "A resource link has no valid URI.",
		},
		{
			place: "Resource.mimeType ResourceTemplate.mimeType ResourceContents.mimeType ResourceLink.mimeType Icon.mimeType",
			kinds: kinds(schema.NotMIME), on: "content.mime-type.syntax", summary: "A MIME type is malformed.",
		},

		{place: "Annotations.audience", on: "content.annotations.audience-values", summary: "The audience in annotations is no list of user and assistant."},
		{place: "Annotations.priority", on: "content.annotations.priority-range", summary: "The priority in annotations is no number from 0 to 1."},
		{
			place: "Annotations.lastModified", kinds: kinds(schema.NotDate), on: "content.annotations.last-modified-iso8601",
			summary: "The lastModified in annotations is no ISO 8601 time.",
		},

		{place: "Icon.src", kinds: kinds(schema.NotURI), on: "content.icons.src-valid-uri", summary: "The src of an icon is no absolute URI."},
		{place: "Icon.src", kinds: kinds(schema.IconScheme), on: "content.icons.src-scheme", summary: "The src of an icon has a scheme that icons do not have."},
		{
			place: "Icon.src", kinds: kinds(schema.IconData), on: "content.icons.data-uri-base64",
			summary: "The data: URI of an icon holds no base64 image data.",
		},
		{place: "Icon.mimeType", kinds: kinds(schema.IconType), on: "content.icons.type-supported", summary: "An icon is of a type that clients need not show."},
		{place: "Icon.sizes", kinds: kinds(schema.IconSize), on: "content.icons.sizes-format", summary: "A size of an icon is neither like 48x48 nor any."},
		{place: "Icon.theme", on: "content.icons.theme", summary: "The theme of an icon is neither light nor dark."},
	}
}

// isWhole reports whether it is the place itself that is wrong, and nothing in it.
func isWhole(v schema.Violation) bool { return v.Place == v.Type }
