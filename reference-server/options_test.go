package refserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// TestPageSizes walks a long list and checks that its pages have the sizes of
// Options.PageSizes and that a cursor leads to the same page each time.
func TestPageSizes(t *testing.T) {
	r := startStdio(t, refserver.Options{PageSizes: []int{4, 1}, LongList: 20})
	r.initialize("2025-11-25", `{}`)
	ask := func(params string) (uris []string, next string) {
		r.send(`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":` + params + `}`)
		var page struct {
			Result struct {
				Resources []struct {
					URI string `json:"uri"`
				} `json:"resources"`
				NextCursor string `json:"nextCursor"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(r.nextLine()), &page); err != nil {
			t.Fatal(err)
		}
		for _, resource := range page.Result.Resources {
			uris = append(uris, resource.URI)
		}
		return uris, page.Result.NextCursor
	}
	var all []string
	params := "{}"
	for n := 0; ; n++ {
		uris, next := ask(params)
		again, _ := ask(params)
		if diff := cmp.Diff(uris, again); diff != "" {
			t.Errorf("page %d differs when requested again (-first +second):\n%s", n, diff)
		}
		all = append(all, uris...)
		if next == "" {
			break
		}
		if want := []int{4, 1}[n%2]; len(uris) != want {
			t.Errorf("page %d has %d items, want %d", n, len(uris), want)
		}
		params = fmt.Sprintf(`{"cursor":%q}`, next)
	}
	if !slices.Contains(all, "demo://numbered/20") || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("the list is %v", all)
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"demo://numbered/20"}}`)
	if got := r.nextLine(); got != `{"jsonrpc":"2.0","id":2,"result":{"contents":[{"mimeType":"text/plain","text":"20","uri":"demo://numbered/20"}]}}` {
		t.Errorf("the last resource is %s", got)
	}
}

// TestRateLimit checks that calls beyond the rate limit get an error with the time to
// wait, that a call succeeds after that time, and that lists are not limited.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startStdio(t, refserver.Options{RateLimit: 2})
		r.initialize("2025-06-18", `{}`)
		refused := func(method, params string) time.Duration {
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
			var m struct {
				Error *struct {
					Code int `json:"code"`
					Data struct {
						RetryAfterMs int `json:"retryAfterMs"`
					} `json:"data"`
				} `json:"error"`
			}
			if err := json.Unmarshal([]byte(r.nextLine()), &m); err != nil {
				t.Fatal(err)
			}
			if m.Error == nil {
				return 0
			}
			if m.Error.Code != -32603 || m.Error.Data.RetryAfterMs == 0 {
				t.Fatalf("the error is %+v", *m.Error)
			}
			return time.Duration(m.Error.Data.RetryAfterMs) * time.Millisecond
		}
		const echo = `{"name":"echo","arguments":{"text":"x"}}`
		for range 2 {
			if refused("tools/call", echo) != 0 {
				t.Error("a call within the limit is refused")
			}
		}
		wait := refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"name","value":""}}`)
		if wait == 0 || wait > time.Second {
			t.Fatalf("the third request must wait %v", wait)
		}
		if refused("tools/list", "{}") != 0 {
			t.Error("a list is refused")
		}
		time.Sleep(wait)
		if refused("tools/call", echo) != 0 {
			t.Error("a call is refused after the wait")
		}
		if refused("tools/call", echo) == 0 {
			t.Error("a call beyond the limit is accepted")
		}
	})
}
