package schema

import (
	"bytes"
	"encoding/base64"
)

// formats are file signatures, with the MIME types of such files.
var formats = []struct {
	head  string
	at    int // the offset of head in the file
	types []string
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

// asNamed requires that the data of a content block has the block's MIME type, if
// both formats are known.
func asNamed(c *checker, v []byte) {
	named, data := valueOf(v, "mimeType"), valueOf(v, "data")
	if kindOf(named) != '"' || kindOf(data) != '"' {
		return
	}
	head := unquoted(data)
	if len(head) > 16 {
		head = head[:16]
	}
	var file [12]byte
	n, _ := base64.StdEncoding.Decode(file[:], head[:len(head)/4*4])
	is, says := -1, -1
	for i, f := range formats {
		if is < 0 && f.at+len(f.head) <= n && string(file[f.at:f.at+len(f.head)]) == f.head {
			is = i
		}
		for _, t := range f.types {
			if bytes.EqualFold(essence(unquoted(named)), []byte(t)) {
				says = i
			}
		}
	}
	if is >= 0 && says >= 0 && is != says {
		c.found(OtherBytes, Beside, "data of the type "+excerpt(named), "data that begins as "+formats[is].types[0])
	}
}

// essence returns a MIME type without its parameters.
func essence(s []byte) []byte {
	e, _, _ := bytes.Cut(s, []byte(";"))
	return bytes.TrimSpace(e)
}

// shownInIcons reports whether s is an image type that clients must or should support in
// icons.
func shownInIcons(s []byte) bool {
	for _, t := range []string{"image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"} {
		if bytes.EqualFold(essence(s), []byte(t)) {
			return true
		}
	}
	return false
}
