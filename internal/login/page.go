package login

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"time"
)

// page is the page that the browser shows after the login.
//
//go:embed page.html
var page string

// pageTemplate is page as a template.
var pageTemplate = template.Must(template.New("page").Parse(page))

// pagePolicy permits the style of page, and nothing else.
var pagePolicy = func() string {
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// handler serves the redirect URI at path. It passes the parameters of a response that belongs to
// the flow to f.answers.
func (f *flow) handler(path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != path || q.Get("state") == "" {
			http.NotFound(w, r)
			return
		}
		about := struct{ Title, Text string }{"Back to the terminal", "It says whether you are logged in. You can close this page."}
		own := f.checkState(q)
		switch {
		case !own:
			about.Title, about.Text = "Not logged in", "This address belongs to another login. Use the one that the terminal shows."
		case q.Get("error") != "":
			about.Title, about.Text = "Not logged in", "The terminal says why. You can close this page."
		}
		var text bytes.Buffer
		_ = pageTemplate.Execute(&text, about) // into memory, from constants
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(text.Bytes())
		if !own {
			return
		}
		select {
		case f.answers <- q:
		case <-r.Context().Done():
		case <-time.After(answerTime): // a second response, or the login has ended
		}
	})
}
