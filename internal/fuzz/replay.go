package fuzz

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// replayVersion is that of the format.
const replayVersion = 1

// mostReplay bounds the size of a replay file.
const mostReplay = 16 << 20

// Replay is a replay file: what was sent, in which order, and the finding that
// is expected of it.
type Replay struct {
	Version   int             `json:"mcp-conform-replay"`
	Expect    Expected        `json:"expect"`
	Transport spec.Transport  `json:"transport"`
	Script    generate.Script `json:"script"`
	// ByItself says in words what the client also did, for people: a replay does
	// it again by itself.
	ByItself []string `json:"byItself,omitempty"`
	// Seed is that of the script that first showed it.
	Seed uint64 `json:"seed,omitempty"`
	// Reproduced is how often it came back of how many tries.
	Reproduced [2]int `json:"reproduced"`
}

// Expected is the finding that a replay file shows.
type Expected struct {
	Law         string `json:"law"`
	Requirement string `json:"requirement"`
	Summary     string `json:"summary"`
	Method      string `json:"method,omitempty"`
	Outcome     string `json:"outcome"`
	Permitted   string `json:"permitted,omitempty"`
	Seen        string `json:"seen,omitempty"`
}

// Replay returns the finding as a file has it.
func (f *Finding) Replay() *Replay {
	var did []string
	for _, d := range f.ByItself() {
		did = append(did, fmt.Sprintf("behind operation %d: %s", d.Behind+1, d.Text))
	}
	return &Replay{
		Version: replayVersion, Transport: f.Transport, Script: f.Script, Seed: f.Case, Reproduced: [2]int{f.Again, f.Tries}, ByItself: did,
		Expect: Expected{
			Law: f.Law, Requirement: f.Requirement, Summary: f.Summary, Method: f.Method, Outcome: f.Outcome.String(),
			Permitted: f.Permitted, Seen: f.Seen,
		},
	}
}

// Encode writes the file.
func (r *Replay) Encode() []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, encode(r), "", "  "); err != nil {
		panic("fuzz: a replay file can't be written: " + err.Error())
	}
	return out.Bytes()
}

// ReadReplay reads a replay file.
func ReadReplay(data []byte) (*Replay, error) {
	if len(data) > mostReplay {
		return nil, fmt.Errorf("it is larger than %d MiB", mostReplay>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	r := &Replay{}
	if err := d.Decode(r); err != nil {
		return nil, errors.New("it is no replay file: " + unreadable(err))
	}
	return r, r.check()
}

// unreadable says in words of JSON what keeps a file from being read.
func unreadable(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends in the middle"
	case errors.As(err, &kind) && kind.Field == "":
		return "it holds " + article(kind.Value) + ", and no object"
	case errors.As(err, &kind):
		return fmt.Sprintf("%s can't be %s", kind.Field, article(kind.Value))
	default:
		return strings.TrimPrefix(err.Error(), "json: ")
	}
}

// article names a JSON value, as an array.
func article(value string) string {
	switch {
	case value == "bool":
		return "true or false"
	case strings.HasPrefix(value, "array"), strings.HasPrefix(value, "object"):
		return "an " + value
	default:
		return "a " + value
	}
}

func (r *Replay) check() error {
	switch {
	case r.Version == 0:
		return errors.New("it is no replay file: it has no mcp-conform-replay, which says the version")
	case r.Version != replayVersion:
		return fmt.Errorf("it is of version %d; this program reads version %d", r.Version, replayVersion)
	case r.Script.Revision.Era() != spec.Handshake || !r.Script.Revision.Published():
		return fmt.Errorf("its revision is %q, and no handshake revision", r.Script.Revision)
	case !slices.Contains(spec.Transports(), r.Transport):
		return fmt.Errorf("its transport is %q; known are %q", r.Transport, spec.Transports())
	case spec.Requirements().Lookup(r.Expect.Requirement) == nil:
		return fmt.Errorf("it expects a finding on %q, which is no requirement", r.Expect.Requirement)
	case len(r.Script.Operations) == 0:
		return errors.New("it has no operations")
	}
	deeds := []generate.Deed{generate.Send, generate.Raw, generate.Answer, generate.Walk, generate.Fence, generate.Close, generate.HTTP, generate.Repeat}
	for i := range r.Script.Operations {
		o := &r.Script.Operations[i]
		switch {
		case !slices.Contains(deeds, o.Do):
			return fmt.Errorf("operation %d does %q; known are %q", i+1, o.Do, deeds)
		case o.On < 0 || o.On >= mostConversations:
			return fmt.Errorf("operation %d is on conversation %d; there are at most %d", i+1, o.On, mostConversations)
		case o.Do == generate.HTTP && o.Exchange == nil:
			return fmt.Errorf("operation %d has no exchange", i+1)
		case o.Do == generate.Send && bytes.ContainsAny(o.Message, "\n"):
			return fmt.Errorf("operation %d sends a message of several lines", i+1)
		}
	}
	return nil
}

// mostConversations bounds those of a replay file.
const mostConversations = 16

// Verdict is what a replay comes to.
type Verdict string

// The verdicts.
const (
	Fixed       Verdict = "FIXED"
	StillBroken Verdict = "STILL BROKEN"
	CannotTell  Verdict = "CANNOT TELL"
)

// Replayed is what came of a replay.
type Replayed struct {
	Verdict Verdict
	// Why says in a sentence what it rests on.
	Why string
	// Unspoken: the server did not complete the handshake in the revision.
	Unspoken bool
	// Tries is how often it was tried, Again how often the finding came back.
	Tries, Again int
	Sighting     *Sighting
	Evidence     *Outcome
}

// Play tries a replay on a server, each time on a fresh one where that can be
// had. What is said to be fixed was tried as often as it takes to believe it.
func Play(ctx context.Context, o Options, r *Replay) (*Replayed, error) {
	o = o.withDefaults()
	laws := slices.DeleteFunc(slices.Clone(o.Laws), func(l Law) bool { return l.ID != r.Expect.Law })
	if len(laws) == 0 {
		return nil, fmt.Errorf("the replay file rests on the law %q, which this program does not have", r.Expect.Law)
	}
	out := &Replayed{Verdict: CannotTell}
	if over := o.Dialer.Transport(); over != r.Transport {
		out.Why = fmt.Sprintf("it was seen over %s, and this server is reached over %s", r.Transport, over)
		return out, nil
	}
	place, _, err := Probe(ctx, o.Dialer, r.Script.Revision, o.Policy, client.Options{Timeout: o.Timeout, StartTimeout: o.Start})
	if err != nil {
		return nil, err
	}
	if place == nil {
		out.Unspoken, out.Why = true, "the server does not complete the handshake in "+string(r.Script.Revision)
		return out, nil
	}
	if why := place.lacks(&r.Script); why != "" {
		out.Why = why
		return out, nil
	}
	wanted := Sighting{Breach: Breach{Deviation: verdict.Deviation{Requirement: r.Expect.Requirement, Summary: r.Expect.Summary}}, Method: r.Expect.Method}
	s := &search{Options: o, pace: limiter(o.Rate), notices: ToldLate(r.Expect.Requirement)}
	doubt := ""
	for range r.tries() {
		if ctx.Err() != nil {
			out.Why = context.Cause(ctx).Error()
			return out, nil
		}
		out.Tries++
		got := s.once(ctx, place, r.Script, o.Dialer)
		sight := wanted.in(laws, got)
		if sight == nil && got.hurried() && ctx.Err() == nil { // what is slow would look as if it were mended
			got = s.patiently(ctx, place, r)
			sight = wanted.in(laws, got)
		}
		if ctx.Err() != nil && sight == nil {
			out.Why = context.Cause(ctx).Error()
			return out, nil
		}
		if sight != nil {
			out.Again++
			out.Verdict, out.Sighting, out.Evidence = StillBroken, sight, got
			out.Why = "the finding came back"
			return out, nil
		}
		if why := got.doubt(laws[0], r.Expect.Requirement); why != "" {
			doubt = why
			if end := got.ended(); end != "" {
				doubt += ": " + end
			}
		}
		out.Evidence = got
	}
	if doubt != "" {
		out.Why = doubt
		return out, nil
	}
	out.Verdict, out.Why = Fixed, fmt.Sprintf("the finding did not come back in %d tries, and the requirement came up", out.Tries)
	return out, nil
}

// in returns the same finding in an outcome, nil where it is not there.
func (s *Sighting) in(laws []Law, o *Outcome) *Sighting {
	for _, sight := range Judge(laws, o) {
		if sight.Key() == s.Key() {
			return &sight
		}
	}
	return nil
}

// once holds the script on a fresh server, with the whole time for answers.
func (s *search) once(ctx context.Context, place *Surroundings, script generate.Script, dialer transport.Dialer) *Outcome {
	d, end := fresh(dialer)
	defer end()
	return s.holding(d, place, s.Timeout).Hold(ctx, script)
}

// tries is how often a finding has to stay away: the more often, the less
// surely it came back when it was found.
func (r *Replay) tries() int {
	again, of := r.Reproduced[0], r.Reproduced[1]
	switch {
	case of > 0 && again >= of:
		return verifying
	case again > 0:
		return 10
	default:
		return 20
	}
}

// doubt says why nothing can be said of an outcome in which the finding did not
// come, "" where it could have.
func (o *Outcome) doubt(law Law, requirement string) string {
	switch {
	case o.Refused != nil:
		return "the server could not be had: " + o.Refused.Error()
	case len(o.Skipped) > 0:
		return fmt.Sprintf("operation %d could not be carried out", o.Skipped[0]+1)
	case slices.ContainsFunc(o.Talks, func(t *Talk) bool { return t.Deaf }):
		return "the server did not answer to the end"
	case law.Observed != nil && !law.Observed(o, requirement):
		return "the requirement did not come up"
	case o.missing() != "":
		return "there was no answer to " + o.missing()
	}
	return ""
}

// ended says of a server that ended by itself what it was at, "" where none did.
func (o *Outcome) ended() string {
	for _, t := range o.Talks {
		if why := t.ended(); why != "" {
			return why
		}
	}
	return ""
}

func (t *Talk) ended() string {
	var open []asked
	behind := ""
	for at, e := range t.Events {
		switch e.Kind {
		case transcript.InputClosed, transcript.Signalled:
			return "" // it was told to
		case transcript.Sent, transcript.Received:
			for i := range e.Messages() {
				m := &e.Frame.Messages[i]
				switch {
				case e.Kind == transcript.Sent && m.Kind == wire.Request:
					open = append(open, asked{id: m.ID, method: m.Method})
					behind = m.Method
				case e.Kind == transcript.Sent && m.Method != "":
					behind = m.Method
				case e.Kind == transcript.Received && m.Kind == wire.Response:
					open = slices.DeleteFunc(open, func(a asked) bool { return a.id.Same(m.ID) })
				}
			}
		case transcript.OutputClosed, transcript.Exited:
			if e.Exchange != 0 { // of one exchange of many
				continue
			}
			how := howEnded(t.Events[at:])
			switch {
			case len(open) > 0:
				return how + " before it answered " + open[0].named()
			case behind != "":
				return how + " behind " + behind
			}
			return how
		}
	}
	return ""
}

// howEnded says of a server whose output ended whether its process did, too. One
// that we told to go may have gone for that, unless it failed.
func howEnded(events []*transcript.Event) string {
	told := false
	for _, e := range events {
		switch e.Kind {
		case transcript.InputClosed:
			told = true
		case transcript.Signalled:
			return closedOutput
		case transcript.Exited:
			if told && e.ExitCode == 0 {
				return closedOutput
			}
			return "the server ended by itself (" + e.Detail + ")"
		}
	}
	return closedOutput
}

const closedOutput = "the server closed its output"

// lacks says what the script needs that the server does not offer, or that must
// not be used; "" for nothing.
func (p *Surroundings) lacks(s *generate.Script) string {
	for i := range s.Operations {
		o := &s.Operations[i]
		for _, m := range wire.Parse(o.Message).Messages {
			name, _ := wire.Text(wire.At(m.Params(), "/name"))
			switch {
			case m.Method != spec.MethodToolsCall || name == "" || slices.Contains(p.Callable, name):
			case slices.Contains(p.Forbidden, name):
				return fmt.Sprintf("operation %d calls the tool %q, which must not be called; see --call-tools", i+1, name)
			case o.Violates == "" && slices.Contains(s.Tools, name):
				return fmt.Sprintf("operation %d calls the tool %q, which the server does not list", i+1, name)
			}
		}
	}
	return ""
}

// note keeps in the script which of the server's tools it calls, so that a
// replay can tell when they are gone.
func (p *Surroundings) note(s generate.Script) generate.Script {
	s.Tools = nil
	for i := range s.Operations {
		for _, m := range wire.Parse(s.Operations[i].Message).Messages {
			name, _ := wire.Text(wire.At(m.Params(), "/name"))
			if m.Method == spec.MethodToolsCall && slices.Contains(p.Callable, name) && !slices.Contains(s.Tools, name) {
				s.Tools = append(s.Tools, name)
			}
		}
	}
	return s
}
