package verdict

// A Builder assembles a report. Here alone verdicts are merged from opinions, and findings get
// their identity, order, number, group, and the verdicts that they block. A report that exists
// already is extended by Report.Add.
type Builder struct {
	// Head is the report without verdicts and findings.
	Head Report
	// Blocks reports whether the findings are the reason why other requirements could not be judged.
	Blocks bool
	// Review, if set, may change the verdicts, which count no findings yet, and leave findings out.
	Review func(verdicts []Verdict, findings []Finding) []Finding

	opinions    opinions
	found       map[Key]bool
	findings    []Finding
	occurrences map[Key][]Occurrence
}

// NewReport returns a report of a version of this program, without a result.
func NewReport(version string) Report {
	return Report{Format: ReportFormat, Tool: "mcp-conform", Version: version}
}

// Expect registers a judge of a place, once, with the opinion that applies unless
// the judge gives another.
func (b *Builder) Expect(place Place, judge string, silent Opinion) {
	b.opinions.expect(place, judge, silent)
}

// Say records a judge's opinion of a place. If a judge gives several, the most
// severe counts. Opinions of unexpected judges are ignored.
func (b *Builder) Say(place Place, judge string, said Opinion) { b.opinions.say(place, judge, said) }

// Find adds the finding that describe returns, unless there is one with the same key.
func (b *Builder) Find(k Key, describe func() Finding) {
	if b.found[k] {
		return
	}
	if b.found == nil {
		b.found = map[Key]bool{}
	}
	b.found[k] = true
	b.findings = append(b.findings, describe())
}

// See records a place where the deviation of a finding was seen.
func (b *Builder) See(k Key, s Occurrence) {
	if b.occurrences == nil {
		b.occurrences = map[Key][]Occurrence{}
	}
	b.occurrences[k] = append(b.occurrences[k], s)
}

// Report returns the report. The builder must not be used after that.
func (b *Builder) Report() *Report {
	p := &b.Head
	p.Verdicts = b.opinions.verdicts()
	if b.Review != nil {
		b.findings = b.Review(p.Verdicts, b.findings)
	}
	p.Add(b.findings...)
	p.group(b.occurrences)
	if b.Blocks {
		p.block()
	}
	return p
}
