package authorization

import "testing"

func TestIsActiveScheme(t *testing.T) {
	blank := " "
	for text, want := range map[string]bool{
		"javascript:alert(1)": true, "JavaScript:x": true, blank + "java\nscript:x": true, "data:text/html,x": true, "file:///etc/passwd": true, "vbscript:x": true,
		"https://auth.example/javascript:x": false, "http://localhost:3000/data": false, "javascript.example": false, "javascripts:x": false, "": false,
	} {
		if got := isActiveScheme(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
