package oddservers

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestNames checks that no name hides another server of the program odd.
func TestNames(t *testing.T) {
	for name := range floodingProcesses {
		if oddServers[name] != nil || Shapes[name] != nil {
			t.Errorf("%q names several servers", name)
		}
	}
	for name := range Shapes {
		if oddServers[name] != nil {
			t.Errorf("%q names several servers", name)
		}
	}
}

// TestSpellings checks that a secret is spelled plainly, percent-encoded and in Base64 at each offset.
func TestSpellings(t *testing.T) {
	const secret = "s3cret \"value\" <&>"
	all := strings.Join(Spellings(secret), " ")
	percent := 0
	for _, spelled := range Spellings(secret) {
		if plain, err := url.PathUnescape(spelled); err == nil && plain == secret && spelled != secret {
			percent++
		}
	}
	if percent < 3 { // upper case, lower case, every second byte
		t.Errorf("%d percent-encoded spellings in %s", percent, all)
	}
	if !strings.Contains(all, secret) {
		t.Error("the secret itself is missing")
	}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret + "xxx"))
		if !slices.ContainsFunc(Spellings(secret), func(spelled string) bool { return len(spelled) > len(secret) && strings.Contains(text, spelled) }) {
			t.Errorf("shifted by %d bytes, %s contains no spelling", shift, text)
		}
	}
}
