package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Excerpt returns s, or where it is longer than n bytes its first n at most, in
// whole characters, and its length. It leaves in what is hostile or no UTF-8:
// whoever shows it must escape it.
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

// BeginsMessage reports whether the text, of which only the head may be known,
// begins as a JSON-RPC message.
func BeginsMessage(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"jsonrpc"`))
}
