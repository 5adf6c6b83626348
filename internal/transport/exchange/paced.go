package exchange

import (
	"net/http"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// pacedTransport is an http.RoundTripper that sends requests to a host when the pacer releases
// them. It sends a request again if the host refuses it because of a rate limit.
type pacedTransport struct {
	pacer *Pacer
	host  string
	over  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *pacedTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	if t.pacer == nil || q.URL.Host != t.host {
		return t.over.RoundTrip(q)
	}
	from := &sender{}
	for attempts := 1; ; attempts++ {
		passed, err := t.pacer.waitTurn(q.Context(), transcript.ClockOf(q.Context()), from, attempts > 1)
		if err != nil {
			if q.Body != nil {
				_ = q.Body.Close()
			}
			return nil, err
		}
		response, err := t.over.RoundTrip(q)
		if err != nil {
			return nil, err
		}
		mayRepeat := q.Body == nil || q.Body == http.NoBody || q.GetBody != nil
		if !mayRepeat {
			return response, nil
		}
		if _, ok := t.pacer.noteResponse(response.StatusCode, response.Header.Get, passed, attempts); !ok {
			return response, nil
		}
		_ = response.Body.Close()
		if q.GetBody != nil {
			q = q.Clone(q.Context())
			if q.Body, err = q.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}
