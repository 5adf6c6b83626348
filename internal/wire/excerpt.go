package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Excerpt returns s if it has at most n bytes. Otherwise it returns at most the first n bytes, cut
// at a character boundary, followed by "… (LENGTH bytes)". It does not escape control characters;
// callers that display the result have to.
func Excerpt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n
	for i := 1; i < utf8.UTFMax && i <= n; i++ {
		if r := s[n-i:]; utf8.RuneStart(r[0]) {
			if _, size := utf8.DecodeRuneInString(r); size > i {
				cut = n - i
			}
			break
		}
	}
	return s[:cut] + "… (" + strconv.Itoa(len(s)) + " bytes)"
}

// LooksLikeMessage reports whether head, the beginning of a text, looks like the beginning of a
// JSON-RPC message.
func LooksLikeMessage(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"jsonrpc"`))
}
