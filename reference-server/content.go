package refserver

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// dotPNG is an image of one pixel, in base64.
const dotPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// tickWAV returns a sound of one sample, in base64.
func tickWAV() string {
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, 38)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1)     // PCM
	b = binary.LittleEndian.AppendUint16(b, 1)     // mono
	b = binary.LittleEndian.AppendUint32(b, 8000)  // samples a second
	b = binary.LittleEndian.AppendUint32(b, 16000) // bytes a second
	b = binary.LittleEndian.AppendUint16(b, 2)     // bytes a sample
	b = binary.LittleEndian.AppendUint16(b, 16)    // bits a sample
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, 2)
	b = append(b, 0, 0x40)
	return base64.StdEncoding.EncodeToString(b)
}

func textBlock(text string) object { return object{"type": "text", "text": text} }

func imageBlock() object {
	return object{"type": "image", "data": dotPNG, "mimeType": "image/png"}
}

func audioBlock() object {
	return object{"type": "audio", "data": tickWAV(), "mimeType": "audio/wav"}
}

func resourceBlock(contents object) object { return object{"type": "resource", "resource": contents} }

// annotations returns all annotations that revision r defines, with the given priority.
func annotations(r spec.Revision, priority float64) object {
	o := object{"audience": []string{"user", "assistant"}, "priority": priority}
	if r.AtLeast(spec.V20250618) {
		o["lastModified"] = "2025-06-18T12:00:00Z"
	}
	return o
}

// withMeta adds a _meta member to o and returns o. Results can have _meta in every revision, most
// other objects only since 2025-06-18.
func withMeta(o object) object {
	o["_meta"] = object{"com.example/made-for": "demonstration"}
	return o
}

// allContentBlocks returns one content block of each type that revision r defines. Of embedded
// resources it returns two: one with text and one with a blob.
func allContentBlocks(r spec.Revision) []object {
	text := textBlock("Text, with annotations.")
	text["annotations"] = annotations(r, 0.5)
	if r.AtLeast(spec.V20250618) {
		withMeta(text)
	}
	blocks := []object{
		text,
		imageBlock(),
		resourceBlock(helloResource.contents()),
		resourceBlock(dotResource.contents()),
	}
	if r.AtLeast(spec.V20250326) {
		blocks = append(blocks, audioBlock())
	}
	if r.AtLeast(spec.V20250618) {
		link := helloResource.entry(r)
		link["type"] = "resource_link"
		blocks = append(blocks, link)
	}
	return blocks
}
