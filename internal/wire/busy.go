package wire

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// overloadWords matches messages that report overload, a rate limit or a failing upstream.
var overloadWords = lazyregexp.New(`(?i)\b(rate.?limit|too many (requests|concurrent)|too fast|slow down|busy|overload|quota|throttl|try again|retry (later|after)|temporar|unavailable|upstream|(HTTP|status|error|code)?:? ?(429|502|503|504)\b)`)

// overloadStems are words of overloadWords: every text that overloadWords matches contains at least
// one of them. Searching for them is a fast first check. The regular expression is slow, because
// a match can begin anywhere.
var overloadStems = []string{
	"limit", "too many", "too fast", "slow down", "busy", "overload", "quota", "throttl", "try again", "retry", "temporar", "unavailable", "upstream",
	"429", "502", "503", "504",
}

func reportsOverload(text string) bool {
	return ContainsFold(text, overloadStems...) && overloadWords.MatchString(text)
}

// overloadStatuses are the HTTP statuses for overload, rate limits and failing upstreams.
// Servers also use them as error codes.
var overloadStatuses = []int64{429, 502, 503, 504}

// IsOverloadError reports whether the message is an error, or a result with isError, that reports
// overload, a rate limit or a failing upstream. Such a message says nothing about the request that
// it responds to. Codes and members of the error's data are recognized in any language, message
// texts in English only.
func (m *Message) IsOverloadError() bool {
	if m.IsError() {
		code, ok := m.ErrorCode()
		if ok && code <= -32600 && code >= -32602 {
			return false // these codes are about the request
		}
		if ok && slices.Contains(overloadStatuses, code) || m.hasRetryHint() {
			return true
		}
		text, _ := Text(m.errorAt("/message"))
		return reportsOverload(text)
	}
	if m.Kind != Response || !MayHaveMember(m.Result(), "isError") || string(m.ResultAt("/isError")) != "true" {
		return false
	}
	for block := range elements(m.ResultAt("/content")) {
		if text, _ := Text(At(block, "/text")); reportsOverload(text) {
			return true
		}
	}
	return false
}

// hasRetryHint reports whether the error's data has a member such as retryAfter, or a status that
// is one of overloadStatuses.
func (m *Message) hasRetryHint() bool {
	data := m.errorAt("/data")
	if data.Kind() != '{' {
		return false
	}
	names, members := Members(data)
	for _, name := range names {
		value := members[name]
		switch plain := nonLetters.ReplaceAllString(strings.ToLower(name), ""); plain {
		case "status", "statuscode", "httpstatus", "code":
			if status, ok := Integer(value); ok && slices.Contains(overloadStatuses, status) {
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

// nonLetters matches each character that is not a letter from a to z. It is applied to names in
// lower case.
var nonLetters = lazyregexp.New(`[^a-z]`)
