package verdict

// A Builder assembles a report: it merges opinions into verdicts, removes duplicate findings,
// sorts, numbers and groups the remaining ones, and links blocked verdicts to the findings that
// block them. To add to an existing report, use Extend.
type Builder struct {
	// Head is the report without verdicts and findings.
	Head Report
	// Blocks reports whether the findings are the reason why the requirements with the verdict
	// blocked could not be judged.
	Blocks bool
	// Review, if set, may change the verdicts, and returns the findings to keep. It is called
	// before the findings are added to the verdicts.
	Review func(verdicts []Verdict, findings []Finding) []Finding

	extended    *Report // the report to extend, or nil
	opinions    opinions
	found       map[Key]bool
	findings    []Finding
	occurrences map[Key][]Occurrence
}

// Extend returns a builder that adds findings to a report. The verdicts and groups of the report
// stay as they are, except that a new finding raises the verdict of its place if the finding's
// outcome is more severe.
func Extend(p *Report) *Builder {
	b := &Builder{extended: p, found: map[Key]bool{}}
	for i := range p.Findings {
		b.found[p.Findings[i].Key()] = true
	}
	return b
}

// NewReport returns a report by the given version of this program, without verdicts and findings.
func NewReport(version string) Report {
	return Report{Format: ReportFormat, Tool: "mcp-conform", Version: version}
}

// Expect registers that a judge, which is a case or a rule, judges a place. The argument silent is
// the opinion that applies unless the judge gives one with AddOpinion. Further calls for the same
// judge and place have no effect.
func (b *Builder) Expect(place Place, judge string, silent Opinion) {
	b.opinions.expect(place, judge, silent)
}

// AddOpinion records a judge's opinion of a place. If a judge gives several opinions of a place,
// the most severe counts. An opinion is ignored if Expect did not register the judge for the place.
func (b *Builder) AddOpinion(place Place, judge string, said Opinion) {
	b.opinions.add(place, judge, said)
}

// AddFinding adds the finding that describe returns, unless there is one with the same key.
func (b *Builder) AddFinding(k Key, describe func() Finding) {
	if b.found[k] {
		return
	}
	if b.found == nil {
		b.found = map[Key]bool{}
	}
	b.found[k] = true
	b.findings = append(b.findings, describe())
}

// AddOccurrence records one observation of the deviation that the finding with key k reports.
func (b *Builder) AddOccurrence(k Key, s Occurrence) {
	if b.occurrences == nil {
		b.occurrences = map[Key][]Occurrence{}
	}
	b.occurrences[k] = append(b.occurrences[k], s)
}

// HasFinding reports whether there is a finding for a place.
func (b *Builder) HasFinding(place Place) bool {
	for k := range b.found {
		if k.Place == place {
			return true
		}
	}
	return false
}

// Build completes and returns the report. The builder must not be used after that.
func (b *Builder) Build() *Report {
	p := b.extended
	if p == nil {
		p = &b.Head
		p.Verdicts = b.opinions.verdicts()
	}
	if b.Review != nil {
		b.findings = b.Review(p.Verdicts, b.findings)
	}
	p.add(b.findings)
	p.groupByCause(b.occurrences)
	if b.Blocks {
		p.markBlocked()
	}
	return p
}
