package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// roleVariable is the environment variable that makes the test program a server.
const roleVariable = "RECORD_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "echo": // what it reads, and then 7
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(7)
	case "echo well":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(0)
	case "exits": // after the first byte
		_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
		_, _ = os.Stdout.WriteString("bye")
		os.Exit(3)
	case "lingers": // until it is terminated
		fmt.Fprintln(os.Stderr, "I stay")
		select {}
	}
}

func serverCommand(t *testing.T, does string) Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: self, Argv: []string{self}, Env: append(os.Environ(), roleVariable+"="+does)}
}

// framesOf returns the recorded bytes of one direction.
func framesOf(rec *transcript.Transcript, kind transcript.Kind) []byte {
	var b []byte
	for _, e := range rec.From(0) {
		if e.Kind == kind {
			b = append(b, e.Raw...)
			if !e.Unterminated {
				b = append(b, '\n')
			}
		}
	}
	return b
}

// TestBytesAreUnchanged is a law: whatever the client writes and however it is split reaches an
// echoing server and comes back unchanged, and is recorded in both directions.
func TestBytesAreUnchanged(t *testing.T) {
	c := serverCommand(t, "echo")
	rapid.Check(t, func(t *rapid.T) {
		var in []byte
		var chunks []io.Reader
		for _, chunk := range rapid.SliceOfN(rapid.SliceOf(rapid.SampledFrom([]byte("a\n\r\x00\xff{}\"\xe2\x82\xac"))), 0, 20).Draw(t, "chunks") {
			in = append(in, chunk...)
			chunks = append(chunks, bytes.NewReader(chunk))
		}
		rec, out := transcript.New(), new(bytes.Buffer)
		code, err := RunStdio(context.Background(), c, Streams{In: io.MultiReader(chunks...), Out: out, Err: io.Discard}, nil, rec)
		if err != nil || code != 7 {
			t.Fatalf("exit code %d, %v", code, err)
		}
		for name, got := range map[string][]byte{"the client gets": out.Bytes(), "sent": framesOf(rec, transcript.Sent), "received": framesOf(rec, transcript.Received)} {
			if !bytes.Equal(in, got) {
				t.Errorf("%s %q, not %q", name, got, in)
			}
		}
	})
}

func TestEitherSideEndsFirst(t *testing.T) {
	for _, c := range []struct {
		name, does string
		in         func() io.Reader
		out        io.Writer
		signal     os.Signal
		code       int
		kinds      []transcript.Kind // that are recorded, in this order
	}{
		{"the client", "echo", func() io.Reader { return bytes.NewReader(nil) }, io.Discard, nil, 7, []transcript.Kind{transcript.Opened, transcript.InputClosed, transcript.OutputClosed, transcript.Exited}},
		{"the server", "exits", func() io.Reader { return io.MultiReader(bytes.NewReader([]byte("x\n")), idleClient{}) }, io.Discard, nil, 3, []transcript.Kind{transcript.Opened, transcript.Sent, transcript.Received, transcript.OutputClosed, transcript.Exited}},
		{"the client stops reading", "echo", func() io.Reader { return io.MultiReader(bytes.NewReader([]byte("x\n")), idleClient{}) }, brokenWriter{}, nil, 7, []transcript.Kind{transcript.Opened, transcript.Sent, transcript.Received, transcript.OutputClosed, transcript.Exited}},
		{"the client stops reading, and the server exits well", "echo well", func() io.Reader { return io.MultiReader(bytes.NewReader([]byte("x\n")), idleClient{}) }, brokenWriter{}, nil, 0, []transcript.Kind{transcript.Opened, transcript.Sent, transcript.Received, transcript.OutputClosed, transcript.Exited}},
		{"a signal", "lingers", func() io.Reader { return idleClient{} }, io.Discard, terminate, -1, []transcript.Kind{transcript.Opened, transcript.Signalled, transcript.OutputClosed, transcript.Exited}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := transcript.New()
			signals := make(chan os.Signal, 1)
			if c.signal != nil {
				signals <- c.signal
			}
			code, err := RunStdio(t.Context(), serverCommand(t, c.does), Streams{In: c.in(), Out: c.out, Err: io.Discard}, signals, rec)
			if err != nil || code != c.code {
				t.Errorf("exit code %d, %v; want %d", code, err, c.code)
			}
			var kinds []transcript.Kind
			for _, e := range rec.From(0) {
				if e.Kind != transcript.Stderr {
					kinds = append(kinds, e.Kind)
				}
			}
			if !slices.Equal(kinds, c.kinds) {
				t.Errorf("recorded %v, want %v", kinds, c.kinds)
			}
		})
	}
}

// An idleClient never writes, and never closes its end.
type idleClient struct{}

func (idleClient) Read([]byte) (int, error) { select {} }

// A brokenWriter is the output of a client that no longer reads.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestLongLineIsPassedOn(t *testing.T) {
	rec, out := transcript.NewWithin(nil, transcript.Limits{Frame: 100}), new(bytes.Buffer)
	in := append(bytes.Repeat([]byte("x"), 100_000), "\nshort\n"...)
	if _, err := RunStdio(t.Context(), serverCommand(t, "echo"), Streams{In: bytes.NewReader(in), Out: out, Err: io.Discard}, nil, rec); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), in) {
		t.Errorf("%d of %d bytes came back", out.Len(), len(in))
	}
	for _, e := range rec.From(0) {
		if len(e.Raw) > 100 {
			t.Errorf("%d bytes are recorded as %s", len(e.Raw), e.Kind)
		}
	}
}

// BenchmarkRoundTrip measures a line from the client to an echoing server and back: through
// record, and without it.
func BenchmarkRoundTrip(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan struct{})
	self, _ := os.Executable()
	go func() {
		defer close(done)
		_, _ = RunStdio(context.Background(), Command{Path: self, Argv: []string{self}, Env: append(os.Environ(), roleVariable+"=echo")}, Streams{In: fromClient, Out: toClient, Err: io.Discard}, nil, transcript.New())
	}()
	times := make([]time.Duration, 0, b.N)
	answer := make([]byte, len(line))
	for b.Loop() {
		began := time.Now()
		_, _ = toServer.Write(line)
		_, _ = io.ReadFull(fromServer, answer)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs/median")
	_ = toServer.Close()
	<-done
}
