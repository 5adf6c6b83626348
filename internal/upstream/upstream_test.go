package upstream

import (
	"cmp"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func send(t *testing.T, method, address, authorization, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFind(t *testing.T) {
	const token = "the/token of=a-client"
	for name, c := range map[string]struct {
		path, authorization, body, want, token string
	}{
		"nothing":       {"/x?a=b", "", "{}", "", ""},
		"another token": {"/x", "Bearer own", "", "", ""},
		"in the header": {"/x", "Bearer " + token, "", "POST /x with the token in the header Authorization", ""},
		"as a password": {"/x", "Basic " + base64.StdEncoding.EncodeToString([]byte(token)), "", "POST /x with the token in the header Authorization", ""},
		"after a user":  {"/x", "Basic " + base64.StdEncoding.EncodeToString([]byte("oauth2:"+token)), "", "POST /x with the token in the header Authorization", ""},
		"short":         {"/test?env=test", "Bearer own", "test", "", "test"},
		"short, used":   {"/x", "Bearer test", "", "POST /x with the token in the header Authorization", "test"},
		"in the query":  {"/x?token=" + url.QueryEscape(token), "", "", "POST /x with the token in the query", ""},
		"in the body":   {"/x", "", `{"token":"` + token + `"}`, "POST /x with the token in the body", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Start(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if answer := send(t, http.MethodPost, d.URL+c.path, c.authorization, c.body); answer != "{}" {
				t.Errorf("answer %q", answer)
			}
			if got := d.Find([]string{"none-of-these-tokens", cmp.Or(c.token, token)}, 0); got != c.want || d.Calls() != 1 || d.Find([]string{token}, 1) != "" {
				t.Errorf("%q, %d calls", got, d.Calls())
			}
		})
	}
}

// TestService checks that requests reach the service as they are.
func TestService(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	defer service.Close()
	at, err := url.Parse(service.URL + "/api")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Start(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	long := strings.Repeat("a", 2*maxBody)
	if got := send(t, http.MethodPut, d.URL+"/things", "Bearer own", long); got != "PUT /api/things Bearer own "+long {
		t.Errorf("the service got %.80q, of %d bytes", got, len(got))
	}
}
