package verdict

// Redact removes secrets from every string of the report that may come from the server or the user;
// text returns a string without its secrets. Ids, summaries (which are constant) and the tool's own
// names stay unchanged.
func (p *Report) Redact(text func(string) string) {
	for _, s := range []*string{&p.Target, &p.Incomplete, &p.Baseline, &p.Artifact, &p.Server.Name, &p.Server.Version, &p.Stats.Slow} {
		*s = text(*s)
	}
	i := &p.Implementation
	for _, s := range []*string{&i.Organization, &i.Project, &i.URL, &i.Version} {
		*s = text(*s)
	}
	replaceEach(i.Contact, text)
	replaceEach(p.Command, text)
	replaceEach(p.Notices, text)
	p.Gateway.redact(text)
	for i := range p.NotSpoken {
		p.NotSpoken[i].Reason = text(p.NotSpoken[i].Reason)
	}
	for i := range p.Stale {
		p.Stale[i].Why = text(p.Stale[i].Why)
	}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		v.Reason, v.Known = text(v.Reason), text(v.Known)
		v.Lacks.redact(text)
	}
	for i := range p.Findings {
		p.Findings[i].Redact(text)
	}
}

// Redact removes secrets from every string of the finding, as Report.Redact
// does.
func (f *Finding) Redact(text func(string) string) {
	f.Permitted, f.Seen, f.Fix, f.Known = text(f.Permitted), text(f.Seen), text(f.Fix), text(f.Known)
	replaceEach(f.Replay, text)
	replaceEach(f.Play, text)
	replaceEach(f.Script, text)
	for _, events := range [][]Evidence{f.Evidence, f.Context} {
		for i := range events {
			events[i].redact(text)
		}
	}
}

func (e *Evidence) redact(text func(string) string) {
	e.Label = text(e.Label)
	clean := text(e.Text)
	if clean == e.Text {
		return
	}
	e.Size += int64(len(clean) - len(e.Text))
	e.Text, e.Mark = clean, redactedMark(e, text, clean)
}

// redactedMark returns the position of the mark of e in clean, which is the redacted text of e. It
// returns nil if e has no valid mark, or if a secret crosses an end of the mark.
func redactedMark(e *Evidence, text func(string) string, clean string) *Span {
	m := e.Mark
	if m == nil || m.From < 0 || m.From > m.To || m.To > len(e.Text) {
		return nil
	}
	before, marked := text(e.Text[:m.From]), text(e.Text[m.From:m.To])
	if before+marked+text(e.Text[m.To:]) != clean {
		return nil
	}
	return &Span{From: len(before), To: len(before) + len(marked)}
}

func replaceEach(all []string, text func(string) string) {
	for i := range all {
		all[i] = text(all[i])
	}
}
