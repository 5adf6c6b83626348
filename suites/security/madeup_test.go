package security

import "testing"

func TestMakeUpSessionID(t *testing.T) {
	for id, want := range map[string]string{
		"5f0c1d2e-0000-4000-8000-00000000fa9b": "5f0c1d2e-0000-4000-8000-00000000ab0c",
		"ABCZ2":                                "ACDG3",
		"z-F":                                  "g-A",
		"---":                                  "---",
	} {
		if got := makeUpSessionID(id); got != want {
			t.Errorf("%s: %s, not %s", id, got, want)
		}
	}
}
