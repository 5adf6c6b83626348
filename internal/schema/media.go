package schema

import (
	"bytes"
	"encoding/base64"
)

// formats are file signatures, with the MIME types of such files.
var formats = []struct {
	head   string
	offset int // the offset of head in the file
	types  []string
}{
	{"\x89PNG\r\n\x1a\n", 0, []string{"image/png", "image/apng", "image/x-png"}},
	{"\xff\xd8\xff", 0, []string{"image/jpeg", "image/jpg", "image/pjpeg"}},
	{"GIF8", 0, []string{"image/gif"}},
	{"WEBP", 8, []string{"image/webp"}},
	{"WAVE", 8, []string{"audio/wav", "audio/wave", "audio/x-wav", "audio/vnd.wave"}},
	{"OggS", 0, []string{"audio/ogg", "audio/opus", "audio/vorbis", "video/ogg"}},
	{"fLaC", 0, []string{"audio/flac", "audio/x-flac"}},
	{"ID3", 0, []string{"audio/mpeg", "audio/mp3"}},
}

// dataMatchesType requires that the data of a content block is in the format that its MIME type
// names. It skips data and MIME types of formats that are not in the list formats.
func dataMatchesType(c *checker, v []byte) {
	mimeType, data := valueOf(v, "mimeType"), valueOf(v, "data")
	if kindOf(mimeType) != '"' || kindOf(data) != '"' {
		return
	}
	head := unquote(data)
	if len(head) > 16 {
		head = head[:16]
	}
	var file [12]byte
	n, _ := base64.StdEncoding.Decode(file[:], head[:len(head)/4*4])
	actual, declared := -1, -1
	for i, f := range formats {
		if actual < 0 && f.offset+len(f.head) <= n && string(file[f.offset:f.offset+len(f.head)]) == f.head {
			actual = i
		}
		for _, t := range f.types {
			if bytes.EqualFold(essence(unquote(mimeType)), []byte(t)) {
				declared = i
			}
		}
	}
	if actual >= 0 && declared >= 0 && actual != declared {
		c.addViolation(OtherBytes, BeyondSchema, "data of the type "+excerpt(mimeType), "data that begins as "+formats[actual].types[0])
	}
}

// essence returns a MIME type without its parameters.
func essence(s []byte) []byte {
	e, _, _ := bytes.Cut(s, []byte(";"))
	return bytes.TrimSpace(e)
}

// isIconType reports whether s is an image type that clients must or should support in
// icons.
func isIconType(s []byte) bool {
	for _, t := range []string{"image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"} {
		if bytes.EqualFold(essence(s), []byte(t)) {
			return true
		}
	}
	return false
}
