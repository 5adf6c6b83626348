package clientfeatures

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestFirstLink(t *testing.T) {
	for text, want := range map[string]string{
		"Please read https://docs.acme.com/terms first.": "https://docs.acme.com/terms",
		"(see HTTP://acme.com)":                          "HTTP://acme.com",
		"<https://acme.com/a?b=c>":                       "https://acme.com/a?b=c",
		"first https://example.com/, then https://a.io":  "https://a.io",
		"for example https://example.com/ada":            "",
		"for example https://www.example.org":            "",
		"like https://... or http://":                    "",
		"like https://user.test/x":                       "",
		"on http://localhost:8080/":                      "",
		"on http://127.0.0.1/":                           "",
		"on http://[::1]:80/":                            "",
		"acme.com":                                       "",
		"":                                               "",
	} {
		if got := firstLink(text); got != want {
			t.Errorf("in %q %q is taken for a link, not %q", text, got, want)
		}
	}
}

func TestIsDevelopmentHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "0.0.0.0": true, "10.0.0.1": true, "192.168.1.1": true, "172.16.0.1": true,
		"printer.local": true, "app.localhost": true, "App.LocalHost.": true, "host.docker.internal": true, "build": true, "a.test": true,
		"acme.com": false, "172.32.0.1": false, "8.8.8.8": false, "2001:db8::1": false, "localhost.acme.com": false, "local.com": false,
	} {
		if got := isDevelopmentHost(host); got != want {
			t.Errorf("%s is taken for a machine of the developer's own: %v", host, got)
		}
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "Password": true, "api_key": true, "API-Key": true, "accessToken": true, "credit card number": true, "cvv": true,
		"passwordHint": false, "token": false, "key": false, "username": false, "pin": false, "apikeys": false, "secret": false,
	} {
		if got := slices.Contains(secretNames, normalizeName(name)); got != want {
			t.Errorf("%s is taken for the name of a secret: %v", name, got)
		}
	}
}

type object = map[string]any

// A conversation is recorded, and then judged.
type conversation struct{ record *transcript.Transcript }

func startConversation(capabilities object) *conversation {
	c := &conversation{transcript.New()}
	c.add(transcript.Sent, wire.NewRequest(wire.StringID("hello"), spec.MethodInitialize, object{
		"protocolVersion": spec.V20251125, "capabilities": capabilities, "clientInfo": object{"name": "c", "version": "1"},
	}))
	c.add(transcript.Received, wire.NewResult(wire.StringID("hello"), object{
		"protocolVersion": spec.V20251125, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "s", "version": "1"},
	}))
	c.add(transcript.Sent, wire.NewNotification(spec.MethodInitialized, nil))
	return c
}

func (c *conversation) add(kind transcript.Kind, frame []byte) {
	c.record.Add(transcript.Event{Kind: kind, Raw: frame})
}

// findings returns the requirements that are broken.
func (c *conversation) findings() []string {
	var out []string
	for _, r := range rules.Judge(Rules(), c.record.From(0), spec.V20251125, spec.Stdio) {
		if len(r.Deviations) > 0 {
			out = append(out, r.Requirement)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// toolLoop returns a conversation with a tool loop, in which the model calls some tools each round;
// spoil may change the messages of a round.
func toolLoop(rounds []int, spoil func(round int, uses, results []any) (any, any)) *conversation {
	c := startConversation(object{"sampling": object{"tools": object{}}})
	c.add(transcript.Sent, wire.NewRequest(wire.IntID(1), spec.MethodToolsCall, object{"name": "a"}))
	messages := []any{object{"role": "user", "content": object{"type": "text", "text": "?"}}}
	for i := 0; ; i++ {
		id := wire.IntID(int64(100 + i))
		c.add(transcript.Received, wire.NewRequest(id, spec.MethodSampling, object{"messages": messages, "maxTokens": 1, "tools": []any{object{"name": "t"}}}))
		if i == len(rounds) {
			c.add(transcript.Sent, wire.NewResult(id, object{"role": "assistant", "content": object{"type": "text", "text": "."}, "model": "m", "stopReason": "endTurn"}))
			break
		}
		var uses, results []any
		for j := range rounds[i] {
			name := fmt.Sprintf("call-%d-%d", i, j)
			uses = append(uses, object{"type": "tool_use", "id": name, "name": "t", "input": object{}})
			results = append(results, object{"type": "tool_result", "toolUseId": name, "content": []any{}})
		}
		c.add(transcript.Sent, wire.NewResult(id, object{"role": "assistant", "content": uses, "model": "m", "stopReason": "toolUse"}))
		said, done := spoil(i, uses, results)
		messages = append(messages, object{"role": "assistant", "content": said}, object{"role": "user", "content": done})
	}
	c.add(transcript.Received, wire.NewResult(wire.IntID(1), object{"content": []any{}}))
	return c
}

// A well-formed loop has no findings, whatever the number of rounds and tools. One mistake in one
// round yields exactly one finding.
func TestToolLoops(t *testing.T) {
	keep := func(_ int, uses, results []any) (any, any) { return uses, results }
	rapid.Check(t, func(t *rapid.T) {
		rounds := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 8).Draw(t, "rounds")
		if diff := cmp.Diff([]string(nil), toolLoop(rounds, keep).findings()); diff != "" {
			t.Fatalf("a loop in order (-want +got):\n%s", diff)
		}
		at := rapid.IntRange(0, len(rounds)-1).Draw(t, "at")
		last := rounds[at] - 1
		for _, spoiler := range []struct {
			name  string
			least int // minimum number of tools per round
			spoil func(uses, results []any) (any, any)
			want  string
		}{
			{"a result less", 1, func(u, r []any) (any, any) { return u, r[:last] }, usesAnswered},
			{"one of several left out", 2, func(u, r []any) (any, any) { return u[:last], r[:last] }, replyToStopReason},
			{"another id", 1, func(u, r []any) (any, any) {
				return u, append(slices.Clone(r[:last]), object{"type": "tool_result", "toolUseId": "other", "content": []any{}})
			}, resultMatches},
			{"a text next to the results", 1, func(u, r []any) (any, any) { return u, append(slices.Clone(r), object{"type": "text", "text": "."}) }, resultsAlone},
			{"one block alone", 1, func(u, r []any) (any, any) {
				if len(r) == 1 {
					return u[0], r[0]
				}
				return u, r
			}, ""},
		} {
			if rounds[at] < spoiler.least {
				continue
			}
			var want []string
			if spoiler.want != "" {
				want = []string{spoiler.want}
			}
			got := toolLoop(rounds, func(round int, uses, results []any) (any, any) {
				if round == at {
					return spoiler.spoil(uses, results)
				}
				return uses, results
			}).findings()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", spoiler.name, diff)
			}
		}
	})
}

// A request is permitted exactly if the client declared the capability.
func TestRequestsNeedDeclaredCapabilities(t *testing.T) {
	plain := object{"messages": []any{}, "maxTokens": 1}
	with := func(name string, v any) object {
		return object{"messages": []any{}, "maxTokens": 1, name: v}
	}
	form, page := object{"message": "?", "requestedSchema": object{}}, object{"mode": "url", "message": "?", "elicitationId": "e", "url": "https://example.com"}
	for _, x := range []struct {
		method string
		params object
		paths  []string // any of them permits the request
		id     string
	}{
		{spec.MethodSampling, plain, []string{"sampling", "sampling.tools", "sampling.context"}, samplingDeclared25},
		{spec.MethodRootsList, nil, []string{"roots", "roots.listChanged"}, rootsDeclared25},
		{spec.MethodElicit, form, []string{"elicitation", "elicitation.form"}, modeDeclared},
		{spec.MethodElicit, page, []string{"elicitation.url"}, modeDeclared},
		{spec.MethodSampling, with("tools", []any{object{"name": "t"}}), []string{"sampling.tools"}, toolsDeclared},
		{spec.MethodSampling, with("toolChoice", object{}), []string{"sampling.tools"}, toolChoiceDeclared},
		{spec.MethodSampling, with("tools", []any{}), []string{"sampling", "sampling.tools", "sampling.context"}, samplingDeclared25},
	} {
		for _, path := range []string{"sampling", "sampling.tools", "sampling.context", "elicitation", "elicitation.form", "elicitation.url", "roots", "roots.listChanged"} {
			name, part, _ := strings.Cut(path, ".")
			member := object{}
			if part != "" {
				member[part] = object{}
			}
			c := startConversation(object{name: member})
			c.add(transcript.Received, wire.NewRequest(wire.IntID(1), x.method, x.params))
			got := c.findings()
			area, _, _ := strings.Cut(x.method, "/")
			switch permitted := slices.Contains(x.paths, path); {
			case permitted && len(got) > 0:
				t.Errorf("%s %v to a client that declared %s: %v", x.method, x.params, path, got)
			case !permitted && len(got) != 1:
				t.Errorf("%s %v to a client that declared %s: %d findings: %v", x.method, x.params, path, len(got), got)
			case !permitted && name == area && got[0] != x.id:
				t.Errorf("%s %v to a client that declared %s: %v", x.method, x.params, path, got)
			}
		}
	}
}
