package schema

import (
	"bytes"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/uri"
)

// An extraCheck is a check that the official schema does not make. It gets a value of the right
// JSON type.
type extraCheck func(c *checker, v []byte)

// textCheck returns a check that reports a violation of the given kind if the function fits returns
// false for the text of a string.
func textCheck(k Kind, permitted string, fits func(text []byte) bool) extraCheck {
	return func(c *checker, v []byte) {
		if !fits(unquote(v)) {
			c.addViolation(k, BeyondSchema, permitted, excerpt(v))
		}
	}
}

var (
	mediaType   = textCheck(NotMIME, "a MIME type such as text/plain or image/png", isMIME)
	imageType   = textCheck(OtherMIME, "the MIME type of an image", mayBeMediaType("image"))
	audioType   = textCheck(OtherMIME, "the MIME type of audio", mayBeMediaType("audio", "video"))
	absoluteURI = textCheck(NotURI, "an absolute URI (RFC 3986), with a scheme and without illegal characters", uri.IsURI)
	uriTemplate = textCheck(NotTemplate, "a URI template (RFC 6570), such as file:///{path}", uri.IsTemplate)
	isoDate     = textCheck(NotDate, "an ISO 8601 date or time, such as 2025-01-12T15:00:58Z", isDate)
	iconType    = textCheck(IconType, "image/png, image/jpeg, image/svg+xml or image/webp", isIconType)
	notBlank    = textCheck(Blank, "a text that people can read, not only white space", isNotBlank)
	iconSize    = textCheck(IconSize, `a size such as "48x48", or "any"`, iconSizePattern.Match)
)

// base64Data requires base64 that every decoder accepts: with padding, and without line breaks.
func base64Data(c *checker, v []byte) {
	const permitted = "standard base64 (RFC 4648, section 4), without the prefix of a data: URI"
	switch text := unquote(v); {
	case !isBase64(text):
		c.addViolation(NotBase64, BeyondSchema, permitted, excerpt(v))
	case len(text)%4 != 0 || bytes.ContainsAny(text, "\r\n"):
		c.addViolation(LooseBase64, BeyondSchema, permitted+", with padding and without line breaks", excerpt(v))
	}
}

var iconSizePattern = lazyregexp.New(`^(any|[0-9]+x[0-9]+)$`)

// textXorBlob requires that a resource does not have both text and blob. The
// official schema already requires at least one of them.
func textXorBlob(c *checker, v []byte) {
	if valueOf(v, "text") != nil && valueOf(v, "blob") != nil {
		c.addViolation(TextAndBlob, BeyondSchema, "either text or blob", "both")
	}
}

// inputOrState requires an InputRequiredResult to have inputRequests or a requestState.
func inputOrState(c *checker, v []byte) {
	if valueOf(v, "inputRequests") == nil && valueOf(v, "requestState") == nil {
		c.addViolation(NoInputRequired, BeyondSchema, "inputRequests, requestState or both", "neither")
	}
}

// iconSource requires that the URI of an icon has a permitted scheme.
func iconSource(c *checker, v []byte) {
	src := unquote(v)
	colon := bytes.IndexByte(src, ':')
	if colon < 0 {
		return // not a URI, which absoluteURI reports
	}
	switch scheme := string(bytes.ToLower(src[:min(colon, 8)])); scheme {
	case "http", "https":
	case "data":
		if !isImageData(src[colon+1:]) {
			c.addViolation(IconData, BeyondSchema, "a data: URI with base64 image data", excerpt(v))
		}
	default:
		c.addViolation(IconScheme, BeyondSchema, "an http, https or data URI", excerpt(v))
	}
}

// isImageData reports whether rest, the part of a URI after "data:", is base64 data whose MIME
// type, if any, may be that of an image.
func isImageData(rest []byte) bool {
	head, data, ok := bytes.Cut(rest, []byte(","))
	if !ok {
		return false
	}
	media, isBase := bytes.CutSuffix(bytes.ToLower(bytes.ReplaceAll(head, []byte(" "), nil)), []byte(";base64"))
	if !isBase || !mayBeMediaType("image")(media) {
		return false
	}
	if bytes.IndexByte(data, '%') >= 0 {
		data = uri.Unescape(data)
	}
	return isBase64(data)
}

// isBase64 reports whether s is base64. It permits missing padding and line
// breaks.
func isBase64(s []byte) bool {
	digits, padding := 0, 0
	for _, b := range s {
		switch {
		case base64Digit[b]:
			if padding > 0 {
				return false
			}
			digits++
		case b == '=':
			padding++
		case b == '\r' || b == '\n':
		default:
			return false
		}
	}
	return digits%4 != 1 && (padding == 0 || (digits+padding)%4 == 0 && padding <= 2)
}

var base64Digit = func() (t [256]bool) {
	for _, b := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		t[b] = true
	}
	return t
}()

// isNotBlank reports whether s contains anything but whitespace.
func isNotBlank(s []byte) bool { return len(bytes.Trim(s, " \t\r\n")) > 0 }

// isMIME reports whether s is type/subtype. It does not check parameters.
func isMIME(s []byte) bool {
	essence, _, _ := bytes.Cut(s, []byte(";"))
	top, sub, ok := bytes.Cut(bytes.TrimRight(essence, " \t"), []byte("/"))
	return ok && isToken(top) && isToken(sub)
}

func isToken(s []byte) bool {
	for _, b := range s {
		if b <= ' ' || b >= 0x7f || bytes.IndexByte([]byte(`()<>@,;:\"/[]?={}`), b) >= 0 {
			return false
		}
	}
	return len(s) > 0
}

// mayBeMediaType returns a function that reports whether a MIME type may be of one of the top-level
// types. The function accepts generic types such as application, and anything that is not a MIME
// type, because the check mediaType reports that.
func mayBeMediaType(tops ...string) func(s []byte) bool {
	return func(s []byte) bool {
		top, _, _ := bytes.Cut(bytes.ToLower(s), []byte("/"))
		for _, t := range tops {
			if string(top) == t {
				return true
			}
		}
		switch string(top) {
		case "text", "audio", "video", "image", "font", "model", "message", "multipart":
			return false
		default:
			return true
		}
	}
}

// isDate reports whether s is a date or time of ISO 8601, in any form that denotes
// a point in time. It also accepts a space instead of T, and lower-case letters.
func isDate(s []byte) bool { return len(s) <= 64 && isoTimestamp.Match(s) }

var isoTimestamp = lazyregexp.New(`^[+-]?\d{4,6}(` +
	`|-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])` + // month, day
	`|-?[Ww](0[1-9]|[1-4]\d|5[0-3])(-?[1-7])?` + // week
	`|-?([0-2]\d\d|3[0-5]\d|36[0-6])` + // day of the year
	`)([Tt ]([01]\d|2[0-4])(:?[0-5]\d(:?([0-5]\d|60))?)?([.,]\d+)?` +
	` ?([Zz]|[+-](0\d|1\d|2[0-3])(:?[0-5]\d)?)?)?$`)
