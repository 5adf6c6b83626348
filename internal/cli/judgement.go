package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// recorded is one recorded conversation, with the revision and the transport by
// which it is judged.
type recorded struct {
	*transcript.Recording
	file      string
	revision  spec.Revision
	transport spec.Transport
}

// chooseRevision determines the revision and the transport by which the conversation is judged.
// Those that the file names have precedence over the arguments, which are the values of flags. If
// the revision is in neither the file nor the flag, the messages determine it. If they name no
// revision, it is 2025-11-25, and a notice says so. An unknown transport or revision in the file is
// a usage error.
func (r *recorded) chooseRevision(revision spec.Revision, transport spec.Transport) error {
	r.transport = transport
	if r.Transport != "" {
		r.transport = spec.Transport(r.Transport)
		if !slices.Contains(spec.Transports(), r.transport) {
			return usagef("known: stdio, streamable-http, sse", "%s: unknown transport %q", r.file, r.Transport)
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
		r.revision = r.namedRevision()
		if r.revision == "" {
			r.revision = spec.NewestHandshake
			r.Notices = append(r.Notices, fmt.Sprintf("%s: names no revision, so it is judged by %s; --revision sets another", r.file, r.revision))
		}
	}
	return nil
}

// namedRevision returns the revision in the result of initialize or, if there is none, the one in
// the client's first message that names a revision. It returns "" if no message names one. It
// ignores versions that were never published. The result has precedence because a client may send
// server/discover with another revision before initialize.
func (r *recorded) namedRevision() spec.Revision {
	for _, q := range transcript.DialogueOf(r.Events).Requests() {
		if q.Message.Method == spec.MethodInitialize && len(q.Responses) > 0 {
			text, _ := wire.Text(wire.At(q.Responses[0].Message.Result(), "/protocolVersion"))
			if spec.Revision(text).IsPublished() {
				return spec.Revision(text)
			}
		}
	}
	for _, e := range r.Events {
		if e.Kind != transcript.Sent {
			continue
		}
		for _, m := range e.Messages() {
			for _, pointer := range []string{"/protocolVersion", spec.MetaPointer(spec.MetaVersion)} {
				if text, _ := wire.Text(wire.At(m.Params(), pointer)); spec.Revision(text).IsPublished() {
					return spec.Revision(text)
				}
			}
		}
	}
	return ""
}

// cannotShow reports whether the recording lacks what the requirement is about: the raw bytes, what
// one transport adds to the messages, or the times.
func (r *recorded) cannotShow(requirement string) bool {
	q := spec.Requirements().Lookup(requirement)
	return r.Values && (len(q.Transports) > 0 || slices.Contains(q.Traits, spec.Bytes)) || r.Untimed && slices.Contains(q.Traits, spec.Timing)
}

// judgement collects what the rules find in recorded conversations.
type judgement struct {
	rules     []rules.Rule
	revisions []spec.Revision
	report    verdict.Builder
	discounts *discount.Run // for notices and groups only: the rules themselves omit what does not count
}

func newJudgement(all []rules.Rule) *judgement {
	return &judgement{rules: all, report: verdict.Builder{Head: verdict.NewReport(version())}, discounts: discount.NewRun()}
}

// judge applies the rules to one conversation, and adds their verdicts and findings to the report.
func (j *judgement) judge(r *recorded) {
	j.report.Head.Notices = append(j.report.Head.Notices, r.Notices...)
	results := rules.Judge(j.rules, r.Events, r.revision, r.transport)
	revision := r.revision
	for _, result := range results {
		revision = result.Revision // the negotiated revision
	}
	j.expect(revision, r.transport)
	j.discounts.Observe(discount.Conversation{
		Revision: revision, Events: r.Events, Dialogue: transcript.DialogueOf(r.Events), OwnProcess: r.transport == spec.Stdio,
	})
	for _, result := range results {
		if r.cannotShow(result.Requirement) {
			continue
		}
		place := verdict.Place{Requirement: result.Requirement, Revision: revision, Transport: r.transport}
		if result.Observed > 0 || len(result.Deviations) > 0 {
			j.report.AddOpinion(place, result.Rule, verdict.Opinion{Outcome: verdict.Kept})
		} else if result.Unclear != "" {
			j.report.AddOpinion(place, result.Rule, verdict.Opinion{Outcome: verdict.NotObserved, Reason: result.Unclear})
		}
		for i := range result.Deviations {
			d := &result.Deviations[i]
			j.addDeviation(r, d.Key(result.Rule, revision, r.transport), d)
		}
	}
	for _, e := range r.Events {
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			j.report.Head.Stats.Messages++
		}
		j.noteServer(e)
	}
}

// expect adds the verdict "not observed" on each requirement that the rules can judge in the
// revision over the transport. The verdict stays if no rule observes the requirement.
func (j *judgement) expect(revision spec.Revision, over spec.Transport) {
	if !slices.Contains(j.revisions, revision) {
		j.revisions = append(j.revisions, revision)
	}
	for i := range j.rules {
		for _, id := range j.rules[i].Requirements {
			place := verdict.Place{Requirement: id, Revision: revision, Transport: over}
			if spec.Requirements().Lookup(id).AppliesTo(revision, over) {
				j.report.Expect(place, j.rules[i].ID, verdict.Opinion{Outcome: verdict.NotObserved, Reason: "it was not observed in the recording"})
			}
		}
	}
}

// addDeviation records a deviation. The first deviation with the key k becomes a finding, and later
// ones are further occurrences of it.
func (j *judgement) addDeviation(r *recorded, k verdict.Key, d *verdict.Deviation) {
	seen := engine.Sighting{Events: r.Events, Deviation: d, Common: j.discounts.IsSameError(k.Revision, r.Events, d.At)}
	j.report.AddOccurrence(k, seen.Occurrence())
	j.report.AddFinding(k, func() verdict.Finding {
		f := verdict.NewFinding(k, d, d.Outcome(spec.Requirements().Lookup(k.Requirement), k.Revision))
		f.Evidence, f.Context = engine.Quote(r.Events, d, nil)
		f.Replay = []string{"mcp-conform", "judge", r.file}
		return f
	})
}

// noteServer takes the server's name and version from the first result that has them.
func (j *judgement) noteServer(e *transcript.Event) {
	server := &j.report.Head.Server
	if e.Kind != transcript.Received || server.Name != "" {
		return
	}
	for _, m := range e.Messages() {
		if name, ok := wire.Text(wire.At(m.Result(), "/serverInfo/name")); ok {
			server.Name = name
			server.Version, _ = wire.Text(wire.At(m.Result(), "/serverInfo/version"))
		}
	}
}

// finish returns the report on the files with these names.
func (j *judgement) finish(names []string) *verdict.Report {
	slices.Sort(j.revisions)
	asIs := func(output string) string { return output } // secrets were removed before judging
	j.report.Head.Notices = slices.Concat(j.report.Head.Notices, j.discounts.Notices(), j.discounts.ExitNotices(nil, false, asIs))
	p := j.report.Build()
	p.Target, p.Revisions = strings.Join(names, ", "), spec.NewestFirst(j.revisions)
	if len(names) > 3 {
		p.Target = fmt.Sprintf("%s and %d more files", names[0], len(names)-1)
	}
	if len(p.Verdicts) > 0 {
		p.Transport = p.Verdicts[0].Transport
	}
	return p
}
