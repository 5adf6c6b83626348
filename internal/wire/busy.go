package wire

import (
	"regexp"
	"slices"
	"strings"
)

// busy is how servers say in words that they have no time for a request now.
var busy = regexp.MustCompile(`(?i)\b(rate.?limit|too many (requests|concurrent)|too fast|slow down|busy|overload|quota|throttl|try again|retry (later|after)|temporar|unavailable|upstream|(HTTP|status|error|code)?:? ?(429|502|503|504)\b)`)

// busyCodes are the statuses of HTTP that say so, where they stand as codes.
var busyCodes = []int64{429, 502, 503, 504}

// Busy reports whether the message is an error, or a result that says it is one,
// by which a server says that it has no time now, or that something behind it
// fails: it would say the same of any request. Codes and what stands beside them
// say it in any language; words only in one.
func (m *Message) Busy() bool {
	if m.IsError() {
		code, ok := m.ErrorCode()
		if ok && code <= -32600 && code >= -32602 {
			return false // these speak of the request
		}
		if ok && slices.Contains(busyCodes, code) || m.saysWhen() {
			return true
		}
		text, _ := Text(At(m.Members["error"], "/message"))
		return busy.MatchString(text)
	}
	if m.Kind != Response || !MayName(m.Result(), "isError") || string(At(m.Result(), "/isError")) != "true" {
		return false
	}
	for block := range elements(At(m.Result(), "/content")) {
		if text, _ := Text(At(block, "/text")); busy.MatchString(text) {
			return true
		}
	}
	return false
}

// saysWhen reports whether the data of an error says when to ask again, or holds
// the status of HTTP by which something behind the server refused.
func (m *Message) saysWhen() bool {
	data := At(m.Members["error"], "/data")
	if data.Kind() != '{' {
		return false
	}
	names, members := Members(data)
	for _, name := range names {
		value := members[name]
		switch plain := letters.ReplaceAllString(strings.ToLower(name), ""); plain {
		case "status", "statuscode", "httpstatus", "code":
			if status, ok := Integer(value); ok && slices.Contains(busyCodes, status) {
				return true
			}
		default:
			if strings.HasPrefix(plain, "retryafter") || strings.HasPrefix(plain, "ratelimit") {
				return true
			}
		}
	}
	return false
}

// letters takes away what is between the words of a name.
var letters = regexp.MustCompile(`[^a-z]`)
