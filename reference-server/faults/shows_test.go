package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// onlyInTime contains the variations that change only how long a conversation takes, not
// its messages.
var onlyInTime = map[string]bool{"legal/slow-start": true, "legal/slow-exit": true, "legal/out-of-order": true, "legal/ends-cancelled": true, "legal/one-by-one": true}

// onlyFiles contains the variations that show only when the client reads a file. See
// TestFilesOutsideOfTheRoots.
var onlyFiles = map[string]bool{"legal/files-in-the-root": true}

// TestEveryVariationShows compares conversations with the server without faults and with
// each legal variation, in each of its revisions. At least one conversation must differ.
// Otherwise the variation has no effect, and a self-test that finds nothing in it proves
// nothing. Faults need no such test, because the self-test must find each of them.
func TestEveryVariationShows(t *testing.T) {
	right := map[spec.Revision][]func() observed{}
	for _, r := range revisionsOfConversations() {
		for _, c := range conversations(r) {
			right[r] = append(right[r], sync.OnceValue(func() observed { return c.play(t, faultless) }))
		}
	}
	shows := func(f faults.Fault, r spec.Revision) bool {
		for i, c := range conversations(r) {
			faulty, usual := c.play(t, f.Seams), right[r][i]()
			if faulty.output != usual.output || onlyInTime[f.ID] && faulty.duration != usual.duration {
				return true
			}
		}
		return false
	}
	var g errgroup.Group
	g.SetLimit(8)
	shown := shownByTours(t)
	for _, f := range variations() {
		for _, r := range revisions(f, spec.Stdio) {
			if shown[faultRevision{f.ID, r}] || onlyFiles[f.ID] {
				continue
			}
			g.Go(func() error {
				if !shows(f, r) {
					t.Errorf("%s in %s: the variation has no effect", f.ID, r)
				}
				return nil
			})
		}
	}
	_ = g.Wait()
}

// variations returns the legal variations.
func variations() []faults.Fault {
	return slices.DeleteFunc(slices.Clone(faults.All()), func(f faults.Fault) bool { return !f.Legal })
}

type faultRevision struct {
	fault    string
	revision spec.Revision
}

// shownByTours returns the variations that change the messages of a tour. A tour takes no
// real time. Variations of a whole process show only in the conversations below.
func shownByTours(t *testing.T) map[faultRevision]bool {
	shown := map[faultRevision]bool{}
	for _, v := range visitors() {
		right := map[spec.Revision]string{}
		for _, r := range spec.HandshakeRevisions() {
			right[r] = messagesText(playTour(t, v, faultless, r))
		}
		for _, f := range variations() {
			for _, r := range revisions(f, spec.Stdio) {
				if at := (faultRevision{f.ID, r}); r.Era() == spec.Handshake && !shown[at] && messagesText(playTour(t, v, f.Seams, r)) != right[r] {
					shown[at] = true
				}
			}
		}
	}
	return shown
}

// TestTheRightServerIsSteady checks that two runs of the server without faults are
// identical. Otherwise a difference would prove nothing.
func TestTheRightServerIsSteady(t *testing.T) {
	for _, r := range spec.HandshakeRevisions() {
		for i, v := range visitors() {
			first, second := messagesText(playTour(t, v, faultless, r)), messagesText(playTour(t, v, faultless, r))
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s, visitor %d: two tours differ:\n%s", r, i, diff)
			}
		}
	}
	for _, r := range revisionsOfConversations() {
		for i, c := range conversations(r) {
			first, second := c.play(t, faultless), c.play(t, faultless)
			if diff := cmp.Diff(first.output, second.output); diff != "" || first.duration != second.duration {
				t.Errorf("%s, conversation %d: two runs, which took %s and %s, differ:\n%s", r, i, first.duration, second.duration, diff)
			}
		}
	}
}

// A conversation is what a client does on one connection. Each chunk is one write. The
// client sends it when the server is idle.
type conversation struct {
	chunks  []string
	hasty   bool   // the client closes stdin at once, without waiting for responses
	answers int    // the number of responses that the server without faults sends
	signal  string // the signal that ends the server; if empty, the client closes stdin
	// reply returns the response to a request of the server. If reply is nil, the
	// client sends an empty result.
	reply func(m *wire.Message) string
	// follow returns what the client sends after a response, "" for nothing. It may be nil.
	follow func(m *wire.Message) string
}

// newlines is a bufio.SplitFunc that splits at each newline and keeps the rest of the
// line, including a CR.
func newlines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func line(format string, args ...any) string { return fmt.Sprintf(format, args...) + "\n" }

func request(id, method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return line(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, id, method, params)
}

func initialize(version, capabilities string) string {
	return request(`"init"`, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, version, capabilities))
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// revisionsOfConversations returns the revisions for which there are conversations.
func revisionsOfConversations() []spec.Revision {
	return append(spec.HandshakeRevisions(), spec.V20260728)
}

func conversations(r spec.Revision) []conversation {
	if r.Era() == spec.Stateless {
		return statelessConversations()
	}
	open := func(capabilities string) string { return initialize(string(r), capabilities) + initialized }
	all := `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`
	ping := func(id string) string { return request(id, "ping", "") }
	out := []conversation{
		// ids, params, and invalid requests
		{answers: 28, chunks: []string{
			open(all), ping("0") + ping(`""`) + ping(`"7"`), ping("4294967297") + ping(`"LongMixedCase"`) + ping("9007199254740993") + ping("1.0"),
			ping("1.5"), ping("true"), ping("{}"), ping("null"),
			request("2", "ping", "{}"), request("3", "ping", `{"_meta":{"x":1}}`), request("4", "com.example/none", ""), request("5", "shutdown", ""), request("6", "exit", ""),
			line(`{"jsonrpc":`), line(`{"id":8,"method":"ping"}`), line(`{"jsonrpc":"2.0","id":9,"METHOD":"ping"}`), line(`{"jsonrpc":"1.0","id":10,"method":"ping"}`),
			line(`{"jsonrpc":"2.0","method":"notifications/com.example.none"}`), line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`),
			line(`{"jsonrpc":"2.0","id":"unasked","result":{}}`),
			initialize(string(r), "{}"), ping("11"), ping("12"), request("13", "tools/call", ""), request("14", "prompts/get", "{}"), request("15", "resources/read", "{}"), ping("16"),
			request("17", "ping", `{"_meta":{"x":"`+strings.Repeat("x", 64<<10)+`"}}`),
		}},
		// requests before initialize, and an unknown version
		{answers: 3, chunks: []string{ping("1"), request("2", "tools/list", ""), initialize("2999-01-01", "{}") + initialized}},
		{answers: 1, chunks: []string{initialize("2025-03-26", "{}")}},
		// early requests, ids that differ only in type, a fraction, and an error for a
		// request that the server never sent
		{answers: 7, chunks: []string{
			initialize(string(r), "{}"), request("1", "tools/list", ""), initialized, request("2", "tools/list", ""), ping("3") + ping(`"3"`),
			request("4", "tools/call", `{"name":"slow","arguments":{"durationMs":1.5,"steps":1}}`), line(`{"jsonrpc":"2.0","id":"unasked","error":{"code":-32603,"message":"x"}}`), ping("5"),
		}},
		// stdin closed early
		{hasty: true, chunks: []string{open("{}") + request("1", "tools/call", `{"name":"slow","arguments":{"durationMs":20}}`)}},
		{answers: 2, chunks: []string{open("{}") + "[" + strings.TrimSpace(ping("1")) + "]\n"}},
		// a cancellation that crosses its request, and bytes that are not UTF-8
		{answers: 3, chunks: []string{open("{}"), request("1", "tools/call", `{"name":"slow","arguments":{"durationMs":20,"steps":1}}`) +
			line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`), line("\"\xff\""), ping("2")}},
	}
	if r.HasBatches() {
		member := strings.TrimSpace
		note := `{"jsonrpc":"2.0","method":"notifications/x"}`
		out = append(out, conversation{answers: 5, chunks: []string{
			open("{}"), "[" + member(ping("1")) + "," + member(ping("2")) + "," + note + "]\n", "[" + note + "]\n", "[]\n", "[1," + member(ping("3")) + "]\n", ping("4"),
		}})
	}
	return slices.Concat(out, []conversation{offersConversation(r)}, crowdedConversations(r))
}

// observed is the observable behaviour of a server: the sorted lines of stdout and
// stderr, how the process ended, and how long it ran.
type observed struct {
	output   string
	duration time.Duration
}

// responseTimeout is how long a client waits for a missing response.
const responseTimeout = 20 * time.Second

// play runs the conversation in a synctest bubble. Its clock advances only when all
// goroutines are idle, so that the result does not depend on the machine's load.
func (c conversation) play(t *testing.T, seams func() refserver.Seams) observed {
	t.Helper()
	var h observed
	synctest.Test(t, func(*testing.T) {
		begin := time.Now()
		h.output = c.describe(seams())
		h.duration = time.Since(begin)
	})
	return h
}

// describe runs the conversation. It returns the lines of stdout and stderr, sorted, and how
// the process ended.
func (c conversation) describe(seams refserver.Seams) string {
	var lines []string
	end := "outlives its context"
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	signals, code := make(chan string, 1), make(chan int, 1)
	var stderr bytes.Buffer
	var owned sync.WaitGroup
	owned.Go(func() {
		o := refserver.Options{Seams: seams, RequestTimeout: time.Minute, DrainTimeout: 200 * time.Millisecond}
		code <- refserver.ServeStdio(ctx, inR, outW, &stderr, signals, o)
		inR.Close()
		outW.Close()
	})
	answered := make(chan struct{})
	toServer := make(chan string, 1000)
	owned.Go(func() { // writes to the server until the pipe is closed
		for text := range toServer {
			if _, err := io.WriteString(inW, text); err != nil {
				continue // the server has exited
			}
			time.Sleep(time.Millisecond)
		}
		inW.Close()
	})
	read := make(chan struct{})
	var mu sync.Mutex // guards closed
	closed := false
	say := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if !closed && len(toServer) < cap(toServer) {
			toServer <- text
		}
	}
	owned.Go(func() {
		defer close(read)
		n := 0
		scan := bufio.NewScanner(outR)
		scan.Buffer(nil, 32<<20)
		scan.Split(newlines)
		for scan.Scan() {
			lines = append(lines, random.ReplaceAllString(scan.Text(), "ID"))
			for _, m := range wire.Parse(scan.Bytes()).Messages {
				switch {
				case m.Kind == wire.Request && c.reply != nil:
					say(c.reply(&m))
				case m.Kind == wire.Request:
					say(string(wire.NewResult(m.ID, map[string]any{})) + "\n")
				case m.Kind == wire.Response:
					if c.follow != nil {
						if text := c.follow(&m); text != "" {
							say(text)
						}
					}
					if n++; n == c.answers {
						close(answered)
					}
				}
			}
		}
	})
	for _, chunk := range c.chunks {
		say(chunk)
	}
	if !c.hasty {
		select {
		case <-answered:
		case <-read:
		case <-time.After(responseTimeout):
		}
	}
	shut := func() {
		mu.Lock()
		defer mu.Unlock()
		if !closed {
			closed = true
			close(toServer)
		}
	}
	if c.signal == "" {
		shut()
	} else {
		signals <- c.signal
	}
	for _, step := range []struct {
		name string
		then func()
	}{
		{"by itself", func() { signals <- "TERM" }},
		{"on TERM", kill},
		{"killed", func() {}},
	} {
		select {
		case n := <-code:
			end = fmt.Sprintf("ended %s with %d", step.name, n)
		case <-time.After(responseTimeout + time.Second):
			step.then()
			continue
		}
		break
	}
	shut()
	inR.Close()
	outW.Close()
	owned.Wait()
	lines = append(lines, strings.Split(stderr.String(), "\n")...)
	slices.Sort(lines)
	return strings.Join(append(lines, end), "\n")
}
