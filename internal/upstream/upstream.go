// Package upstream is a test double of a service that the server under test calls. It detects
// whether the server passes its client's token on (MCP,
// basic/authorization/security-considerations).
package upstream

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits on the requests that are kept: their number, and the bytes of a body.
const (
	maxRequests = 1000
	maxBody     = 1 << 20
)

// A Double is a running test double. It responds to every request with an empty JSON object, or
// forwards it to the real service.
type Double struct {
	URL string

	server *http.Server
	mu     sync.Mutex
	calls  int
	kept   []request
}

// A request is a request that the server under test has sent.
type request struct {
	line  string
	parts map[string]string // the parts that may contain a token, by name
}

// Start starts a double on a free port of this machine. The double forwards requests to service,
// unless that is nil.
func Start(ctx context.Context, service *url.URL) (*Double, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Double{URL: "http://" + l.Addr().String()}
	answer := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	if service != nil {
		answer = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(service) }}
	}
	d.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body can't be read", http.StatusBadRequest)
			return
		}
		d.noteRequest(r, body)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
		answer.ServeHTTP(w, r)
	})}
	go func() { _ = d.server.Serve(l) }() // ends with Close
	return d, nil
}

// Close stops the double.
func (d *Double) Close() { _ = d.server.Close() }

func (d *Double) noteRequest(r *http.Request, body []byte) {
	kept := request{r.Method + " " + r.URL.Path, map[string]string{"the query": r.URL.RawQuery, "the path": r.URL.Path, "the body": string(body)}}
	for name, values := range r.Header {
		kept.parts["the header "+name] = strings.Join(values, "\n")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls++; len(d.kept) < maxRequests {
		d.kept = append(d.kept, kept)
	}
}

// Calls returns how many requests the server has sent, including those that are not kept.
func (d *Double) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// Find searches the kept requests for the tokens, one token after the other. It skips the first
// requests; the parameter after is their number. For the first match it returns the line of the
// request and the name of the part that contains the token. It returns "" if no request contains a
// token. A token shorter than leastToken counts only in a header for credentials.
func (d *Double) Find(tokens []string, after int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, token := range tokens {
		if found := d.findToken(token, after); found != "" {
			return found
		}
	}
	return ""
}

func (d *Double) findToken(token string, after int) string {
	for _, r := range d.kept[min(after, len(d.kept)):] {
		for name, text := range r.parts {
			if containsToken(text, token) || slices.Contains(credentials, name) && isCredential(text, token) {
				return fmt.Sprintf("%s with the token in %s", r.line, name)
			}
		}
	}
	return ""
}

// leastToken is the minimum length of a token for which all parts of a request are searched. A
// shorter token, such as "test", may occur by chance.
const leastToken = 12

// containsToken reports whether text contains the token, verbatim, percent-encoded or in base64. It
// returns false if the token is shorter than leastToken.
func containsToken(text, token string) bool {
	if len(token) < leastToken {
		return false
	}
	return strings.Contains(text, token) || strings.Contains(text, url.QueryEscape(token)) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(token)))
}

// credentials are the names of the parts that are headers for credentials.
var credentials = []string{"the header Authorization", "the header Proxy-Authorization"}

// isCredential reports whether the token is the credential in the value of a header, or the user
// or the password of Basic authentication.
func isCredential(value, token string) bool {
	for line := range strings.SplitSeq(value, "\n") {
		scheme, credential, _ := strings.Cut(line, " ")
		credential = strings.TrimSpace(credential)
		if credential == token || line == token {
			return true
		}
		if pair, err := base64.StdEncoding.DecodeString(credential); err == nil && strings.EqualFold(scheme, "Basic") {
			user, password, _ := strings.Cut(string(pair), ":")
			if user == token || password == token || string(pair) == token {
				return true
			}
		}
	}
	return false
}
