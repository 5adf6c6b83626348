package reporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// entry is a finding as the console lists it. Equal findings in several
// revisions are one entry, with the observation in the newest revision.
type entry struct {
	verdict.Finding
	revisions []spec.Revision
	others    map[string]bool // requirements on which mcp-conform itself failed for the same reason
	ids       []string        // the ids of the findings that the entry represents
	causes    []string        // the cause of each of these findings; "" for none
	blocked   int             // requirements that could not be judged because of the finding
}

// entries returns the findings to list, most severe first. Notes are included only if notes is
// true. Known findings are excluded, because they have lines of their own.
func entries(r *verdict.Report, notes bool) []entry {
	return groupEntries(r, func(f *verdict.Finding) bool {
		return f.Known == "" && (f.Outcome > verdict.Note || notes && f.Outcome == verdict.Note)
	})
}

// allEntries returns all findings, most severe first. Equal findings in several
// revisions are one entry.
func allEntries(r *verdict.Report) []entry {
	return groupEntries(r, func(*verdict.Finding) bool { return true })
}

func groupEntries(r *verdict.Report, wanted func(*verdict.Finding) bool) []entry {
	at := map[verdict.LineKey]int{}
	var out []entry
	add := func(f verdict.Finding, key verdict.LineKey) *entry {
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, entry{Finding: f, others: map[string]bool{}})
		}
		e := &out[i]
		play := e.Play
		if f.Revision > e.Revision {
			e.Finding = f
		}
		if len(play) > 0 {
			e.Play = play
		} else {
			e.Play = f.Play
		}
		if !slices.Contains(e.revisions, f.Revision) {
			e.revisions = append(e.revisions, f.Revision)
		}
		if f.ID != "" {
			e.ids, e.causes = append(e.ids, f.ID), append(e.causes, f.Group)
		}
		return e
	}
	for _, f := range r.Findings {
		if wanted(&f) {
			add(f, f.LineKey())
		}
	}
	for _, v := range r.Verdicts { // a harness error may have no finding
		if v.Outcome != verdict.HarnessError || len(v.Findings) > 0 {
			continue
		}
		f := verdict.Finding{
			Requirement: v.Requirement, Level: v.Level, Revision: v.Revision, Transport: v.Transport,
			Outcome: v.Outcome, Summary: cmp.Or(v.Reason, "mcp-conform itself failed and left no reason."),
		}
		key := verdict.LineKey{Outcome: f.Outcome}
		key.Summary, key.Transport = f.Summary, f.Transport
		e := add(f, key)
		if v.Requirement != e.Requirement {
			e.others[v.Requirement] = true
		}
	}
	slices.SortStableFunc(out, func(a, b entry) int {
		return cmp.Or(notesLast(&a, &b), ownFirst(&a, &b), cmp.Compare(b.Outcome, a.Outcome))
	})
	for i := range out {
		out[i].revisions = spec.NewestFirst(out[i].revisions)
		out[i].blocked = countBlockedBy(r, out[i].ids)
	}
	return out
}

// notesLast orders notes after all other findings, because a note never changes the exit code. So a
// broken requirement is not listed after a note, even if the SDK causes the deviation.
func notesLast(a, b *entry) int {
	switch {
	case a.Outcome != verdict.Note && b.Outcome == verdict.Note:
		return -1
	case a.Outcome == verdict.Note && b.Outcome != verdict.Note:
		return 1
	}
	return 0
}

// ownFirst orders known SDK findings after the server's own.
func ownFirst(a, b *entry) int {
	switch {
	case a.SDK == nil && b.SDK != nil:
		return -1
	case a.SDK != nil && b.SDK == nil:
		return 1
	}
	return 0
}

// knownInSDK returns a phrase with the SDK in which a finding is known and the note about it, or ""
// if the finding is not known in an SDK.
func knownInSDK(f *verdict.Finding) string {
	if f.SDK == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("known in %s %s: %s %s", f.SDK.Name, f.SDK.Versions, f.SDK.Note, f.SDK.Issue))
}

// countBlockedBy counts the requirements that could not be judged because of one of the findings,
// which are given by their ids.
func countBlockedBy(r *verdict.Report, findings []string) int {
	blocked := map[string]bool{}
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.BlockedBy != "" && slices.Contains(findings, v.BlockedBy) {
			blocked[v.Requirement] = true
		}
	}
	return len(blocked)
}

// describeBlocked returns how many other requirements a finding blocks, or "".
func (e *entry) describeBlocked() string {
	if e.blocked == 0 {
		return ""
	}
	return countWithNoun(e.blocked, "other requirement") + " could not be judged because of it"
}

// Limits for what the console shows of findings, in lines unless another unit is given.
const (
	listed     = 40 // findings; more would hide the most severe, which come first
	entryMax   = 12 // for an entry, without the lines about the SDK and the fix
	excerptMax = 4
	eventMax   = 6    // for an event, with Verbose
	eventsMax  = 7    // events, with Verbose: all that a run quotes
	scriptMax  = 5    // for each operation of a fuzzing script
	replayMax  = 4096 // bytes; a longer command is not usable on a terminal
)

var outcomeStyles = map[verdict.Outcome]struct {
	mark  string
	color color
}{
	verdict.HarnessError: {"✗", red},
	verdict.Broken:       {"✗", red},
	verdict.Unconfirmed:  {"?", yellow},
	verdict.Flaky:        {"~", yellow},
	verdict.Warning:      {"!", yellow},
	verdict.Note:         {"·", none},
}

// entryLines renders e in at most entryMax lines, plus those of its SDK remark, its fix and its
// script. The headline counts as one line, however narrow the terminal is. Only the URL of the
// specification's page and the command that reproduces the finding may exceed the width, because
// users copy them. The carets below the evidence are not counted.
func (c *Console) entryLines(e *entry) []string {
	out := c.headline(e, c.headlinePlace(e))
	room := entryMax + len(out) - 1
	labelled := func(label, text string) {
		if text == "" {
			return
		}
		for _, line := range wrap(text, c.o.Width-2-len(label), 2) {
			out = append(out, "  "+c.paint(dim, label)+line)
			label = strings.Repeat(" ", len(label))
		}
	}
	labelled("", e.Summary)
	labelled("", e.describeBlocked())
	labelled("permitted  ", e.Permitted)
	labelled("seen       ", e.Seen)
	before := len(out)
	labelled("sdk        ", knownInSDK(&e.Finding))
	labelled("fix        ", usualFix(&e.Finding))
	room += len(out) - before

	var last []string
	if e.Page != "" {
		last = append(last, "  "+c.paint(dim, clip(e.Page, 5*c.o.Width)))
	}
	if text := reproduceCommand(&e.Finding); text != "" {
		last = append(last, "  again: "+text)
	}
	out = append(out, c.excerptLines(e.Evidence, min(excerptMax, room-len(out)-len(last)))...)
	return slices.Concat(out, c.scriptLines(e.Script), last)
}

// headlinePlace returns the part of an entry's headline after the requirement.
func (c *Console) headlinePlace(e *entry) string {
	where := fmt.Sprintf("%s · %s · %s", describeLevel(&e.Finding), joinRevisions(e.revisions), e.Transport)
	if isDoubtful(e.Outcome) {
		where += " · " + describeRetries(&e.Finding)
	}
	if n := len(e.others); n > 0 {
		where = fmt.Sprintf("and %d more · %s", n, where)
	}
	return clip(where, 2*c.o.Width)
}

// scriptLines shows what the fuzzer sent, because a message that was sent long before may have
// caused the observation.
func (c *Console) scriptLines(script []string) []string {
	var out []string
	for i, line := range script {
		label := strings.Repeat(" ", len(scriptLabel))
		if i == 0 {
			label = c.paint(dim, scriptLabel)
		}
		parts := []string{Visible(line)}
		if c.foldWidth() > 0 {
			parts = wrap(line, c.o.Width-4-len(scriptLabel), scriptMax)
		}
		for n, part := range parts {
			if n > 0 {
				label, part = strings.Repeat(" ", len(scriptLabel)), "  "+part
			}
			out = append(out, "  "+label+part)
		}
	}
	return out
}

// scriptLabel is the label of what the fuzzer sent.
const scriptLabel = "script     "

// headline returns the first line of an entry, wrapped between words.
func (c *Console) headline(e *entry, where string) []string {
	look := outcomeStyles[e.Outcome]
	name, id := look.mark+" "+strings.ToUpper(e.Outcome.String()), clip(e.Requirement, c.o.Width)
	lead := c.paint(look.color, name) + "  " + c.paint(bold, id) + "  "
	if c.foldWidth() == 0 {
		return []string{lead + where}
	}
	return appendWrapped(lead, width(name)+width(id)+4, splitWords(where), c.foldWidth(), 2)
}

// excerptLines shows the events around the first offending one. most limits the number of events, and
// of the line that says how many more there are. With Verbose it shows up to eventsMax of them, each on
// several lines if necessary.
func (c *Console) excerptLines(events []verdict.Evidence, most int) []string {
	if c.o.Verbose {
		most = eventsMax
	}
	shown := events
	if len(events) > most {
		first := slices.IndexFunc(events, func(e verdict.Evidence) bool { return e.Offending })
		from := max(0, first-(most-2))
		shown = events[from : from+most-1]
	}
	var out []string
	for i := range shown {
		out = append(out, c.eventLines(&shown[i])...)
	}
	if left := len(events) - len(shown); left > 0 {
		out = append(out, c.paint(dim, fmt.Sprintf("  … %s; --report json=FILE has all", countWithNoun(left, "more event"))))
	}
	return out
}

// eventLines shows an event: on one line or, with Verbose, on at most eventMax lines. If only a part
// of the event offends, carets below it point at that part.
func (c *Console) eventLines(e *verdict.Evidence) []string {
	lead, columns, most := offendingMark(e)+" "+directionSymbol(e)+" ", c.o.Width-4, 1
	if c.o.Verbose {
		most = eventMax
	}
	view := viewOf(e, most*columns)
	var out []string
	for _, v := range view.fold(columns) {
		switch {
		case view.offends != "":
			out = append(out, c.paint(red, lead)+v.before+c.paint(red, v.offends)+v.after)
		case e.Offending:
			out = append(out, c.paint(red, lead+v.before))
		default:
			out = append(out, lead+v.before)
		}
		lead = strings.Repeat(" ", width(lead))
		if v.offends != "" {
			out = append(out, strings.Repeat(" ", width(lead)+width(v.before))+c.paint(red, strings.Repeat("^", width(v.offends))))
		}
	}
	return out
}

// directionSymbol returns a symbol for the direction of an event.
func directionSymbol(e *verdict.Evidence) string {
	switch e.Direction {
	case ">":
		return "→"
	case "<":
		return "←"
	}
	return "!"
}

// offendingMark returns a marker for the offending event.
func offendingMark(e *verdict.Evidence) string {
	if e.Offending {
		return "»"
	}
	return " "
}

// reproduceCommand returns the command that reproduces a finding, or "" if there is none.
func reproduceCommand(f *verdict.Finding) string {
	if len(f.Replay) == 0 {
		return ""
	}
	argv := f.Replay
	if f.Outcome == verdict.Note && len(argv) > 2 && argv[1] != "replay" { // a run shows notes only with -v
		argv = slices.Insert(slices.Clone(argv), 2, "-v")
	}
	line := ShellQuote(argv)
	if len(line) > replayMax {
		return "the command is too long to be shown; the JSON report has it"
	}
	return Visible(line)
}

// replayCommand returns the command that replays the conversation of a finding, to check whether
// the finding is fixed. It returns "" if there is no such command.
func replayCommand(f *verdict.Finding) string {
	line := ShellQuote(f.Play)
	if len(f.Play) == 0 || len(line) > replayMax {
		return ""
	}
	return Visible(line)
}

// describeRetries returns how often a finding was retried, and the result.
func describeRetries(f *verdict.Finding) string {
	void := ""
	if f.Void > 0 {
		void = "no fresh server started in " + countWithNoun(f.Void, "attempt")
	}
	switch {
	case f.Tries > 0 && void != "":
		return fmt.Sprintf("recurred in %d of %d retries; %s more", f.Reproduced, f.Tries, void)
	case f.Tries > 0:
		return fmt.Sprintf("recurred in %d of %d retries", f.Reproduced, f.Tries)
	case void != "":
		return "could not be retried: " + void
	case isDoubtful(f.Outcome):
		return "could not be retried: the run ended before"
	}
	return "not retried"
}

// isDoubtful reports whether a finding was not reproduced reliably, or could not
// be retried.
func isDoubtful(o verdict.Outcome) bool { return o == verdict.Flaky || o == verdict.Unconfirmed }

// describeLevel returns the level of a requirement. It adds the basis if that is not a
// keyword, the reason why a deviation from a MUST is only a warning, and the CWE of a
// requirement about security.
func describeLevel(f *verdict.Finding) string {
	if f.CWE > 0 {
		return fmt.Sprintf("%s · CWE-%d", describeLevelAlone(f), f.CWE)
	}
	return describeLevelAlone(f)
}

func describeLevelAlone(f *verdict.Finding) string {
	text := string(f.Level)
	warns := f.Outcome == verdict.Warning && (f.Level == spec.Must || f.Level == spec.MustNot)
	switch {
	case warns && f.Basis == spec.JSONRPC:
		return text + " (only a warning: from " + standardOf(f) + ")"
	case warns && f.Basis == spec.Derived:
		return text + " (only a warning: implied by the specification, which does not write " + text + ")"
	case warns:
		return text + " (only a warning: this case is open to interpretation)"
	case f.Basis == spec.Keyword || f.Basis == "":
		return text
	case f.Basis == spec.Incorporated:
		return text + " (of a standard that MCP builds on)"
	case f.Basis == spec.Schema:
		return text + " (by the schema)"
	case f.Basis == spec.Derived:
		return text + " (implied by the specification)"
	case f.Basis == spec.JSONRPC:
		return text + " (of " + standardOf(f) + ")"
	default:
		return text + " (" + f.Basis.DisplayName() + ")"
	}
}

// standardOf names the standard from which the requirement of a finding comes. If the finding's
// page shows no standard that it knows, standardOf returns a general phrase.
func standardOf(f *verdict.Finding) string {
	if strings.HasPrefix(f.Page, "https://www.jsonrpc.org/") {
		return "JSON-RPC 2.0"
	}
	return "a standard that MCP refers to"
}
