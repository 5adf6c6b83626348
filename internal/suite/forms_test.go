package suite

import "testing"

// TestMayRefuse checks that a status that bars the client is no refusal of a form, and that HTTP's
// own statuses for bodies refuse only an odd one.
func TestMayRefuse(t *testing.T) {
	for status, want := range map[int][2]bool{ // an ordinary form, an odd one
		400: {false, false}, 500: {false, false}, 411: {false, true}, 413: {false, true},
		402: {true, true}, 403: {true, true}, 421: {true, true}, 429: {true, true},
	} {
		if got := [2]bool{isInconclusiveRefusal(status, false), isInconclusiveRefusal(status, true)}; got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}
