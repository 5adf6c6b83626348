package target

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// PortMark is the placeholder for the port that is picked for a started server.
const PortMark = "{port}"

// DefaultReady is how long a started server may take until it listens.
const DefaultReady = time.Minute

// A Start is the command that starts the server at a target's URL.
type Start struct {
	Ready time.Duration // how long the server may take until it listens at the URL

	argv []string
	dir  string
	env  []string // without the variables in marked
	// marked are the variables whose values contain PortMark, as K=V.
	marked []string
	text   string   // the command as given
	words  []string // the words of text, including the assignments before the command
}

// Command returns how to start a server that listens on the port: the command, its
// folder, and the complete environment.
func (s *Start) Command(port string) (argv []string, dir string, env []string) {
	return withPort(s.argv, port), s.dir, append(slices.Clone(s.env), withPort(s.marked, port)...)
}

// NeedsFreePort reports whether a free port has to be picked for each start.
func (t Target) NeedsFreePort() bool { return strings.Contains(t.URL, PortMark) }

// URLAt returns the URL of a server that listens on the port.
func (t Target) URLAt(port string) string { return strings.ReplaceAll(t.URL, PortMark, port) }

func withPort(list []string, port string) []string {
	out := make([]string, 0, len(list))
	for _, text := range list {
		out = append(out, strings.ReplaceAll(text, PortMark, port))
	}
	return out
}

const startExample = "  mcp-conform run --start 'npm start' http://localhost:3000/mcp"

// parseStart parses --start and --ready for the server whose URL is raw. Without --start it
// returns nil, or an error if --ready is given or raw contains PortMark.
func (r *resolver) parseStart(where, raw string) (*Start, error) {
	ported := strings.Contains(raw, PortMark)
	switch {
	case r.Start == nil && ported:
		return nil, newUsageError(where, quote(r.secrets.RedactArg(raw))+" contains "+PortMark+", but there is no --start to give it a port",
			"write the port of the server that runs, or let it be started:",
			"  mcp-conform run --start 'npm start' --env PORT={port} "+quoteAll([]string{r.secrets.RedactArg(raw)}))
	case r.Start == nil && r.Ready != nil:
		return nil, newUsageError(where, "--ready needs --start", "add --start COMMAND, or leave --ready out")
	case r.Start == nil:
		return nil, nil
	}
	s := &Start{Ready: DefaultReady, text: *r.Start, dir: r.dir()}
	if r.Ready != nil {
		if s.Ready = *r.Ready; s.Ready <= 0 {
			return nil, newUsageError("", "--ready is "+s.Ready.String()+", but must be positive", "give the time that the server may take to listen, like --ready 10s")
		}
	}
	words, err := splitCommand("--start", s.text, r.goos)
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		s.words = append(s.words, w.text)
	}
	var set []setting
	for len(words) > 0 && words[0].isAssignment() {
		name, value, _ := strings.Cut(words[0].text, "=")
		set = append(set, setting{name: name, value: value})
		words = words[1:]
	}
	if len(words) == 0 || isBlank(words[0].text) {
		return nil, newUsageError("", "--start names no command", "give the command that starts the server, and the URL at which it listens then:", startExample)
	}
	for _, w := range words {
		text := w.text
		if w.quoted != 0 {
			text = r.expandTilde(text)
		}
		s.argv = append(s.argv, text)
	}
	s.setEnvironment(r, set)
	r.secrets.AddArgs(s.argv...)
	if err := r.checkPort(where, raw, s); err != nil {
		return nil, err
	}
	env := r.childEnviron(set...)
	if p := r.startProblem(s.argv[0], s.dir, &env); p != nil {
		if p.instead == nil {
			return nil, newUsageError("", p.what, "name the program in it, or what runs it")
		}
		return nil, newUsageError("", p.what, "write:",
			"  --start "+quoteAll([]string{quoteAll(slices.Concat(p.instead, r.secrets.RedactArgs(s.argv)[1:]))}))
	}
	return s, nil
}

// setEnvironment sets the variables of the command. As in a shell, the assignments before the
// command override --env. PortMark is replaced only in values that the user gave, not in inherited
// ones.
func (s *Start) setEnvironment(r *resolver, set []setting) {
	env := r.childEnviron()
	for _, v := range set {
		env.set(v)
		AddVariable(r.secrets, v.name, v.value)
	}
	marked := newEnviron(nil, r.goos)
	for _, v := range slices.Concat(r.given, set) {
		marked.set(setting{name: v.name, unset: true})
		if strings.Contains(v.value, PortMark) {
			marked.set(v)
		}
	}
	s.marked = marked.list()
	for _, kv := range s.marked {
		name, _, _ := strings.Cut(kv, "=")
		env.set(setting{name: name, unset: true})
	}
	s.env = env.list()
}

// checkPort returns an error if only one of the command and the URL uses PortMark, or if PortMark
// is not the port of the URL.
func (r *resolver) checkPort(where, raw string, s *Start) error {
	passed := len(s.marked) > 0 || slices.ContainsFunc(s.argv, func(arg string) bool { return strings.Contains(arg, PortMark) })
	ported := strings.Contains(raw, PortMark)
	switch {
	case ported && !passed:
		return newUsageError(where, "the URL contains "+PortMark+", but nothing passes that port to the server",
			"name it in the command or in a variable, as the server needs it:",
			"  --start 'my-server --port {port}'",
			"  --start 'npm start' --env PORT={port}")
	case passed && !ported:
		return newUsageError(where, "--start uses "+PortMark+", but the URL does not",
			"write "+PortMark+" as the port of the URL: http://localhost:{port}/mcp")
	}
	if u, err := ParseURL(raw); ported && (err != nil || u.Port() != dummyPort) {
		return newUsageError(where, PortMark+" is not the port of the URL "+quote(r.secrets.RedactArg(raw)), "write it like http://localhost:{port}/mcp")
	}
	return nil
}

// ParseURL parses a URL, in which PortMark may stand for the port.
func ParseURL(raw string) (*url.URL, error) {
	return url.Parse(strings.ReplaceAll(raw, PortMark, dummyPort))
}

// dummyPort replaces PortMark when a URL is parsed only to check it.
const dummyPort = "65535"

// shownFlags returns the flags --start and --ready as they were given, without secrets.
func (s *Start) shownFlags(r *resolver) []string {
	text := s.text
	if shown := r.secrets.RedactArgs(s.words); !slices.Equal(shown, s.words) {
		text = quoteAll(shown)
	}
	flags := []string{"--start", text}
	if r.Ready != nil {
		flags = append(flags, "--ready", s.Ready.String())
	}
	return flags
}
