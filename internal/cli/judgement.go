package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// recorded is one conversation of a file, and by what it is judged.
type recorded struct {
	*transcript.Recording
	file      string
	revision  spec.Revision
	transport spec.Transport
}

// settle decides by which revision and transport the session is judged: what
// the file says, else the flags, else what the messages tell.
func (r *recorded) settle(revision spec.Revision, transport spec.Transport) error {
	r.transport = transport
	if r.Transport != "" {
		r.transport = spec.Transport(r.Transport)
		if !slices.Contains(spec.Transports(), r.transport) {
			return usagef("known are stdio, streamable-http and sse", "%s: the transport %q is not known", r.file, r.Transport)
		}
	}
	switch {
	case r.Revision != "":
		rev, err := spec.ParseRevision(r.Revision)
		if err != nil {
			return usagef("", "%s: revision: %v", r.file, err)
		}
		r.revision = rev
	case revision != "":
		r.revision = revision
	default:
		r.revision = r.told()
		if r.revision == "" {
			r.revision = spec.V20251125
			r.Notices = append(r.Notices, fmt.Sprintf("%s: nothing tells the revision, so it is judged by %s; --revision names another", r.file, r.revision))
		}
	}
	return nil
}

// told returns the revision that the client's first request speaks of, or "".
func (r *recorded) told() spec.Revision {
	for _, e := range r.Events {
		if e.Kind != transcript.Sent {
			continue
		}
		for _, m := range e.Messages() {
			for _, pointer := range []string{"/protocolVersion", "/_meta/io.modelcontextprotocol~1protocolVersion"} {
				if text, _ := wire.Text(wire.At(m.Params(), pointer)); spec.Revision(text).Published() {
					return spec.Revision(text)
				}
			}
		}
	}
	return ""
}

// unseen tells whether the recording can't show whether the requirement was
// kept: bytes that were not recorded, times that nobody noted.
func (r *recorded) unseen(requirement string) bool {
	q := spec.Requirements().Lookup(requirement)
	return r.Values && (len(q.Transports) > 0 || requirement == "base.message-utf8") || r.Untimed && requirement == "ping.not-excessive"
}

// where is what a requirement is judged in.
type where struct {
	revision  spec.Revision
	transport spec.Transport
}

// seen is what was seen of a requirement.
type seen struct {
	requirement string
	where
}

// judgement gathers what the rules say of recorded sessions.
type judgement struct {
	rules    []rules.Rule
	places   []where
	kept     map[seen]bool
	unclear  map[seen]string              // why what came up shows nothing
	known    map[string][]engine.Sighting // of findings, by what makes them the same
	findings []verdict.Finding
	server   verdict.Server
	notices  []string
	messages int
}

func newJudgement(all []rules.Rule) *judgement {
	return &judgement{rules: all, kept: map[seen]bool{}, unclear: map[seen]string{}, known: map[string][]engine.Sighting{}}
}

// take judges one session.
func (j *judgement) take(r *recorded) {
	j.notices = append(j.notices, r.Notices...)
	at := where{r.revision, r.transport}
	results := rules.Judge(j.rules, r.Events, r.revision, r.transport)
	for _, result := range results {
		at.revision = result.Revision // what was negotiated
	}
	if !slices.Contains(j.places, at) {
		j.places = append(j.places, at)
	}
	for _, result := range results {
		if r.unseen(result.Requirement) {
			continue
		}
		if key := (seen{result.Requirement, at}); result.Subjects > 0 || len(result.Deviations) > 0 {
			j.kept[key] = true
		} else {
			j.unclear[key] = result.Unclear
		}
		for _, d := range result.Deviations {
			j.found(r, at, result.Rule, d)
		}
	}
	for _, e := range r.Events {
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			j.messages++
		}
		j.meet(e)
	}
}

// sameness is equal for deviations that are the same finding.
func sameness(rule, requirement, summary string, at where) string {
	return strings.Join([]string{rule, requirement, summary, string(at.revision), string(at.transport)}, "\x00")
}

// found takes note of a deviation; the first of its kind is a finding.
func (j *judgement) found(r *recorded, at where, rule string, d verdict.Deviation) {
	key := sameness(rule, d.Requirement, d.Summary, at)
	j.known[key] = append(j.known[key], engine.Sighting{Events: r.Events, Deviation: &d})
	if len(j.known[key]) > 1 {
		return
	}
	q := spec.Requirements().Lookup(d.Requirement)
	evidence, around := engine.Quote(r.Events, &d, nil)
	j.findings = append(j.findings, verdict.Finding{
		Requirement: d.Requirement, Level: q.Level, Basis: q.Basis(at.revision), Revision: at.revision, Transport: at.transport,
		Judge: rule, Outcome: d.Outcome(q, at.revision), Summary: d.Summary, Permitted: d.Permitted, Seen: d.Seen,
		Evidence: evidence, Context: around, Page: q.Page(at.revision), Replay: []string{"mcp-conform", "judge", r.file},
	})
}

// meet takes the server's name from the answer to initialize.
func (j *judgement) meet(e *transcript.Event) {
	if e.Kind != transcript.Received || j.server.Name != "" {
		return
	}
	for _, m := range e.Messages() {
		j.server.Name, _ = wire.Text(wire.At(m.Result(), "/serverInfo/name"))
		j.server.Version, _ = wire.Text(wire.At(m.Result(), "/serverInfo/version"))
	}
}

// report puts it all together.
func (j *judgement) report(names []string) *verdict.Report {
	slices.SortStableFunc(j.findings, func(a, b verdict.Finding) int {
		return cmp.Or(-cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Requirement, b.Requirement), cmp.Compare(a.Revision, b.Revision),
			cmp.Compare(a.Judge, b.Judge), cmp.Compare(a.Summary, b.Summary))
	})
	for i := range j.findings {
		j.findings[i].ID = fmt.Sprintf("F%d", i+1)
	}
	engine.Group(j.findings, func(f *verdict.Finding) []engine.Sighting {
		return j.known[sameness(f.Judge, f.Requirement, f.Summary, where{f.Revision, f.Transport})]
	})
	slices.SortFunc(j.places, func(a, b where) int {
		return cmp.Or(cmp.Compare(a.revision, b.revision), cmp.Compare(a.transport, b.transport))
	})
	p := &verdict.Report{
		Format: engine.ReportFormat, Tool: "mcp-conform", Version: version(), Target: strings.Join(names, ", "),
		Transport: j.places[0].transport, Server: j.server, Findings: j.findings, Notices: j.notices,
		Stats: verdict.Stats{Messages: j.messages},
	}
	if len(names) > 3 {
		p.Target = fmt.Sprintf("%s and %d more files", names[0], len(names)-1)
	}
	for _, at := range j.places {
		if !slices.Contains(p.Revisions, at.revision) {
			p.Revisions = append(p.Revisions, at.revision)
		}
		p.Verdicts = append(p.Verdicts, j.verdicts(at)...)
	}
	return p
}

// verdicts says of each requirement that a rule judges what was seen of it.
func (j *judgement) verdicts(at where) []verdict.Verdict {
	judges := map[string][]string{}
	for i := range j.rules {
		for _, id := range j.rules[i].Requirements {
			judges[id] = append(judges[id], j.rules[i].ID)
		}
	}
	var out []verdict.Verdict
	for _, q := range spec.Requirements().All() {
		if len(judges[q.ID]) == 0 || !q.AppliesTo(at.revision, at.transport) {
			continue
		}
		v := verdict.Verdict{
			Requirement: q.ID, Area: q.Area, Level: q.Level, Revision: at.revision, Transport: at.transport, Judges: judges[q.ID],
			Outcome: verdict.NotObserved, Reason: "it did not come up, or was not recorded",
		}
		switch key := (seen{q.ID, at}); {
		case j.kept[key]:
			v.Outcome, v.Reason = verdict.Kept, ""
		case j.unclear[key] != "":
			v.Reason = j.unclear[key]
		}
		for i := range j.findings {
			if f := &j.findings[i]; f.Requirement == q.ID && f.Revision == at.revision && f.Transport == at.transport {
				v.Findings = append(v.Findings, f.ID)
				v.Outcome, v.Reason = max(v.Outcome, f.Outcome), ""
			}
		}
		out = append(out, v)
	}
	return out
}
