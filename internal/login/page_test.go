package login

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	for query, want := range map[string]string{
		"code=c&state=s":                                  "Back to the terminal",
		"error=access_denied&state=s":                     "Not logged in",
		"error=%3Cscript%3Ealert(1)%3C/script%3E&state=s": "Not logged in",
		"code=c":         "404 page not found",
		"code=c&state=t": "belongs to another login",
	} {
		state, said := "s", 0
		f := &flow{answers: make(chan url.Values, 1), say: func(string) { said++ }}
		f.state.Store(&state)
		w := httptest.NewRecorder()
		f.handler("/callback").ServeHTTP(w, httptest.NewRequest("GET", "/callback?"+query, nil))
		if text := w.Body.String(); !strings.Contains(text, want) || strings.Contains(text, "script") {
			t.Errorf("%s: %s", query, text)
		}
		if stray := strings.Contains(query, "state=t"); stray && (said != 1 || len(f.answers) > 0) || !stray && said > 0 {
			t.Errorf("%s: said %d times", query, said)
		}
		if policy := w.Header().Get("Content-Security-Policy"); w.Code == 200 && !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
			t.Errorf("%s: the policy is %q", query, policy)
		}
	}
}
