package wire

import "testing"

func TestIsOverloadError(t *testing.T) {
	for text, want := range map[string]bool{
		`"error":{"code":-32000,"message":"Too many requests"}`:                                    true,
		`"error":{"code":-32602,"message":"Too many requests"}`:                                    false,
		`"error":{"code":429,"message":"Zu viele Anfragen"}`:                                       true,
		`"error":{"code":"503","message":"occupé"}`:                                                true,
		`"error":{"code":-32000,"message":"Serveur occupé"}`:                                       false, // only English words are recognized
		`"error":{"code":-32000,"message":"Serveur occupé","data":{"retryAfter":3}}`:               true,
		`"error":{"code":-32000,"message":"Serveur occupé","data":{"retry_after_ms":3000}}`:        true,
		`"error":{"code":-32000,"message":"x","data":{"Retry-After":"3"}}`:                         true,
		`"error":{"code":-32000,"message":"x","data":{"rateLimit":{"remaining":0}}}`:               true,
		`"error":{"code":-32603,"message":"x","data":{"statusCode":503}}`:                          true,
		`"error":{"code":-32603,"message":"x","data":{"status":500}}`:                              false,
		`"error":{"code":-32601,"message":"x","data":{"retryAfter":3}}`:                            false,
		`"error":{"code":-32603,"message":"x","data":"retryAfter"}`:                                false,
		`"error":{"code":-32603,"message":"Internal error"}`:                                       false,
		`"result":{"isError":true,"content":[{"type":"text","text":"Error: rate limit reached"}]}`: true,
		`"result":{"isError":true,"content":[{"type":"text","text":"no such file"}]}`:              false,
		`"result":{"content":[{"type":"text","text":"the upstream is busy"}]}`:                     false,
	} {
		m := Parse([]byte(`{"jsonrpc":"2.0","id":1,` + text + `}`)).Messages[0]
		if got := m.IsOverloadError(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
