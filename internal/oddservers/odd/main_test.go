package main

import (
	"bytes"
	"testing"
)

// TestRun checks that the name of the program selects the server, and that the arguments reach it.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"/tmp/bin/odd", "dies"}, 3, ""},
		{[]string{`odd.exe`, "dies"}, 3, ""},
		{[]string{"odd", "no-such"}, 120, ""},
		{[]string{"/tmp/bin/even", "dies"}, 120, "there is no server \"even\"\n"},
	} {
		var stderr bytes.Buffer
		if code := run(c.args, &stderr); code != c.code || stderr.String() != c.says {
			t.Errorf("%q: exit code %d, %q", c.args, code, stderr.String())
		}
	}
}
