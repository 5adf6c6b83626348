package suite

import "testing"

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:3000": true, "127.0.0.1": true, "[::1]:3000": true, "[::1]": true, "localhost": true, "Localhost:3000": true,
		"": false, "example.com": false, "192.0.2.2:3000": false, "localhost.example.com:80": false, "[2001:db8::1]:80": false, "127.0.0.1.example.com": false,
	} {
		if got := isLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
