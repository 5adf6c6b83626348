package shapes

import (
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func kinds(k ...schema.Kind) []schema.Kind { return k }

// anyBlock are the types of content blocks.
const anyBlock = "TextContent ImageContent AudioContent ResourceLink EmbeddedResource"

// contentRows returns the rows of parts that several messages have: content blocks, annotations and
// icons.
func contentRows() []row {
	const (
		call, get, read, sampling = spec.MethodToolsCall, spec.MethodPromptsGet, spec.MethodResourcesRead, spec.MethodSampling
		// The specification has no MUST on the content of tool results and of sampling messages.
		lesser    = call + " " + sampling
		byType    = "content.type.by-revision-2024-11-05 content.type.by-revision-2025-03-26 content.type.by-revision-2025-06-18"
		badBase64 = "The server's image data is not base64."
		badSound  = "The server's audio data is not base64."
		badImage  = "The server's image has a malformed MIME type."
		badAudio  = "The server's audio has a malformed MIME type."

		// RFC 4648 forbids line breaks and missing padding (sections 3.1 and 3.2), but many decoders
		// accept them.
		looseBase64 = "The server's base64 has line breaks or lacks padding."
		tightBase64 = "Encode as base64 with padding and without line breaks."
	)
	return []row{
		{
			in: call, place: "CallToolResult.content.*.type", kinds: kinds(schema.WrongWord), ids: byType, observedAt: anyBlock,
			summary: "The server's tool result has content of an unknown type.",
		},
		{
			in: get, place: "PromptMessage.content.type", kinds: kinds(schema.WrongWord), ids: byType, observedAt: anyBlock,
			summary: "The server's prompt message has content of an unknown type.",
		},

		{in: get, place: "ImageContent.data", kinds: kinds(schema.NotBase64), ids: "content.image.base64", summary: badBase64},
		{in: call, place: "ImageContent.data", kinds: kinds(schema.NotBase64), ids: "content.image.base64", summary: badBase64, weight: verdict.AtMostWarning},
		{in: get, place: "AudioContent.data", kinds: kinds(schema.NotBase64), ids: "content.audio.base64", summary: badSound},
		{in: call, place: "AudioContent.data", kinds: kinds(schema.NotBase64), ids: "content.audio.base64", summary: badSound, weight: verdict.AtMostWarning},
		{
			in: sampling, place: "ImageContent.data AudioContent.data", kinds: kinds(schema.NotBase64), ids: "sampling.message.media-base64",
			summary: "The server's sampling message has data that is not base64.",
		},
		{in: get + " " + call, place: "ImageContent.data", kinds: kinds(schema.LooseBase64), ids: "content.image.base64", summary: looseBase64, fix: tightBase64, weight: verdict.AtMostWarning},
		{in: get + " " + call, place: "AudioContent.data", kinds: kinds(schema.LooseBase64), ids: "content.audio.base64", summary: looseBase64, fix: tightBase64, weight: verdict.AtMostWarning},
		{in: sampling, place: "ImageContent.data AudioContent.data", kinds: kinds(schema.LooseBase64), ids: "sampling.message.media-base64", summary: looseBase64, fix: tightBase64, weight: verdict.AtMostWarning},
		{in: get, place: "BlobResourceContents.blob", kinds: kinds(schema.LooseBase64), ids: "content.prompt-embedded.text-or-blob", summary: looseBase64, fix: tightBase64, weight: verdict.AtMostWarning},
		{in: read, place: "BlobResourceContents.blob", kinds: kinds(schema.LooseBase64), ids: "resources.read.blob-base64", summary: looseBase64, fix: tightBase64, weight: verdict.AtMostWarning},
		{in: lesser, place: "BlobResourceContents.blob", kinds: kinds(schema.LooseBase64), ids: "content.blob.base64", summary: looseBase64, fix: tightBase64, weight: verdict.AtMostWarning},
		{in: get, place: "ImageContent.mimeType", kinds: kinds(schema.NotMIME), ids: "content.image.mime-type-valid", summary: badImage},
		{in: lesser, place: "ImageContent.mimeType", kinds: kinds(schema.NotMIME), ids: "content.image.mime-type-valid", summary: badImage, weight: verdict.AtMostWarning},
		{
			in: get + " " + lesser, place: "ImageContent.mimeType", kinds: kinds(schema.OtherMIME), ids: "content.image.mime-type-valid",
			summary: "The server's image has the MIME type of something else.", weight: verdict.AtMostWarning,
		},
		{in: get, place: "AudioContent.mimeType", kinds: kinds(schema.NotMIME), ids: "content.audio.mime-type-valid", summary: badAudio},
		{in: lesser, place: "AudioContent.mimeType", kinds: kinds(schema.NotMIME), ids: "content.audio.mime-type-valid", summary: badAudio, weight: verdict.AtMostWarning},
		{
			in: get + " " + lesser, place: "AudioContent.mimeType", kinds: kinds(schema.OtherMIME), ids: "content.audio.mime-type-valid",
			summary: "The server's audio has the MIME type of something else.", weight: verdict.AtMostWarning,
		},

		{
			in: get + " " + lesser, place: "ImageContent AudioContent", kinds: kinds(schema.OtherBytes), ids: "content.data.matches-mime-type",
			observedAt: "ImageContent.data AudioContent.data", summary: "The server's data has another format than its MIME type.",
		},

		{
			in: get, place: "ResourceContents.uri", kinds: kinds(schema.NotURI), ids: "content.prompt-embedded.uri-valid",
			summary: "The server's prompt embeds a resource without a valid URI.",
		},
		{
			in: get, place: "ResourceContents", kinds: kinds(schema.TextAndBlob), ids: "content.prompt-embedded.text-or-blob",
			summary: "The server's prompt embeds a resource with both text and blob.",
		},
		{
			in: get, place: "ResourceContents", kinds: kinds(schema.Missing), ids: "content.prompt-embedded.text-or-blob", when: isTypeItself,
			summary: "The server's prompt embeds a resource with neither text nor blob.",
		},
		{
			in: get, place: "BlobResourceContents.blob", kinds: kinds(schema.NotBase64), ids: "content.prompt-embedded.text-or-blob",
			summary: "The server's prompt embeds a blob that is not base64.",
			fix:     "Encode blob as standard base64 with padding, without the prefix of a data URI.",
		},
		{
			in: read, place: "ResourceContents", kinds: kinds(schema.TextAndBlob), ids: "resources.read.text-or-blob",
			summary: "The server's resource contents have both text and blob.",
		},
		{
			in: read, place: "BlobResourceContents.blob", kinds: kinds(schema.NotBase64), ids: "resources.read.blob-base64",
			summary: "The server's resource has a blob that is not base64.",
		},
		{
			in: lesser, place: "BlobResourceContents.blob", kinds: kinds(schema.NotBase64), ids: "content.blob.base64",
			summary: "The server embeds a blob that is not base64.",
		},
		{
			in: lesser, place: "ResourceContents.uri", kinds: kinds(schema.NotURI), ids: "content.embedded.uri-valid",
			summary: "The server's tool result embeds a resource without a valid URI.",
		},
		{
			place: "ResourceLink.uri", kinds: kinds(schema.NotURI), ids: "content.resource-link.uri-valid",
			summary: "The server's resource link has no valid URI.",
		},
		{
			place: "Resource.mimeType ResourceTemplate.mimeType ResourceContents.mimeType ResourceLink.mimeType Icon.mimeType",
			kinds: kinds(schema.NotMIME), ids: "content.mime-type.syntax", summary: "The server's MIME type is malformed.",
		},

		{place: "Annotations.audience", ids: "content.annotations.audience-values", summary: "The server's annotations have an invalid audience."},
		{place: "Annotations.priority", ids: "content.annotations.priority-range", summary: "The server's annotations have a priority that is not from 0 to 1."},
		{
			place: "Annotations.lastModified", kinds: kinds(schema.NotDate), ids: "content.annotations.last-modified-iso8601",
			summary: "The server's annotations have a lastModified that is not ISO 8601.",
		},

		{place: "Icon.src", kinds: kinds(schema.NotURI), ids: "content.icons.src-valid-uri", summary: "The server's icon has a src that is not an absolute URI."},
		{place: "Icon.src", kinds: kinds(schema.IconScheme), ids: "content.icons.src-scheme", summary: "The server's icon has a src whose scheme is not allowed for icons."},
		{
			place: "Icon.src", kinds: kinds(schema.IconData), ids: "content.icons.data-uri-base64",
			summary: "The server's icon has a data: URI without base64 image data.",
		},
		{place: "Icon.mimeType", kinds: kinds(schema.IconType), ids: "content.icons.type-supported", summary: "The server's icon has a type that clients need not support."},
		{place: "Icon.sizes", kinds: kinds(schema.IconSize), ids: "content.icons.sizes-format", summary: "The server's icon has a size that is neither like 48x48 nor any."},
		{place: "Icon.theme", ids: "content.icons.theme", summary: "The server's icon has a theme that is not light or dark."},
	}
}

// isTypeItself reports whether the value of the named type itself is wrong, rather than a value in
// it.
func isTypeItself(v schema.Violation) bool { return v.Place == v.Type }
