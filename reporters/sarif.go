package reporters

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// These types are the part of SARIF 2.1.0 (section 3 of the standard) that a
// report needs. The existing library would add a JSON Schema validator and nine
// thousand lines.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool            `json:"tool"`
	Automation sarifAutomation      `json:"automationDetails"`
	Bases      map[string]sarifBase `json:"originalUriBaseIds"`
	ColumnKind string               `json:"columnKind"`
	Results    []sarifResult        `json:"results"`
	Properties map[string]any       `json:"properties"`
	// Invocations comes last, because only it contains times.
	Invocations []sarifInvocation `json:"invocations"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

// sarifAutomation distinguishes several uploads for one commit. GitHub uses the
// part before the last slash as the category.
type sarifAutomation struct {
	ID string `json:"id"`
}

type sarifBase struct {
	Description sarifText `json:"description"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifRule struct {
	ID            string         `json:"id"`
	Short         sarifText      `json:"shortDescription"`
	Full          sarifText      `json:"fullDescription"`
	Help          sarifText      `json:"help"`
	HelpURI       string         `json:"helpUri,omitempty"`
	Configuration sarifConfig    `json:"defaultConfiguration"`
	Properties    map[string]any `json:"properties"`
}

type sarifConfig struct {
	Level string `json:"level"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	Properties   map[string]any     `json:"properties"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name          string `json:"name"`
	QualifiedName string `json:"fullyQualifiedName"`
	Kind          string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	Start         string              `json:"startTimeUtc,omitempty"`
	End           string              `json:"endTimeUtc,omitempty"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

const (
	sarifRoot = "%SRCROOT%"
	// sarifResults is the number of results that GitHub shows of a run.
	sarifResults = 5000
	// Limits for strings in the document, in columns, and for the events of a
	// finding.
	sarifMessage  = 900
	sarifProperty = 2000
	sarifEvents   = 12
	// noArtifact is the location of a result if the report names no file.
	// GitHub rejects a document with a result that has no location in the
	// repository.
	noArtifact = "README.md"
	project    = "https://github.com/mcp-conform/mcp-conform"
)

// SARIF writes the report in the part of SARIF 2.1.0 that GitHub's code
// scanning reads: a rule for each requirement that has findings, and a result
// for each finding. Equal findings in several revisions are one result.
func SARIF(w io.Writer, r *verdict.Report) error {
	run := sarifRun{
		Automation: sarifAutomation{"mcp-conform/" + slug(cmp.Or(string(r.Transport), "run")) + "/"},
		Bases:      map[string]sarifBase{sarifRoot: {sarifText{Text: "The root of the repository."}}},
		ColumnKind: "utf16CodeUnits", Results: []sarifResult{},
		Properties: map[string]any{
			"target": clip(r.Target, sarifMessage), "transport": Visible(string(r.Transport)), "server": serverName(r), "revisions": visibleAll(r.Revisions),
			"security": verdict.SecurityOf(r),
		},
	}
	run.Tool.Driver = sarifDriver{Name: "mcp-conform", Version: clip(r.Version, 80), InformationURI: project, Rules: []sarifRule{}}
	index := map[string]int{}
	es := allEntries(r)
	for i := range es[:min(len(es), sarifResults)] {
		e := &es[i]
		if _, ok := index[e.Requirement]; !ok {
			index[e.Requirement] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(e))
		}
		if e.IsSecurity() {
			run.Tool.Driver.Rules[index[e.Requirement]].markSecurity(e)
		}
		run.Results = append(run.Results, sarifResultOf(r, e, index[e.Requirement]))
	}
	run.Invocations = []sarifInvocation{sarifInvocationOf(r)}

	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	if err := enc.Encode(log); err != nil {
		return fmt.Errorf("the report can't be written as SARIF: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// sarifLevels maps outcomes to levels. A flaky or unconfirmed finding is more severe than a warning
// and less severe than a broken requirement. SARIF has no level for that.
var sarifLevels = map[verdict.Outcome]string{
	verdict.HarnessError: "error", verdict.Broken: "error", verdict.Unconfirmed: "warning", verdict.Flaky: "warning", verdict.Warning: "warning", verdict.Note: "note",
}

func sarifRuleOf(e *entry) sarifRule {
	text := cmp.Or(statementOf(e.Requirement), e.Summary)
	rule := sarifRule{
		ID: Visible(e.Requirement), Short: sarifText{Text: plainText(text)}, Full: sarifText{Text: plainText(text)},
		Configuration: sarifConfig{"warning"}, HelpURI: pageAddress(e.Page),
		Properties: map[string]any{"tags": []string{"mcp"}, "precision": "very-high", "problem.severity": "warning"},
	}
	help := plainText(text)
	if q := spec.Requirements().Lookup(e.Requirement); q != nil {
		newest := q.NewestJudged()
		rule.HelpURI = q.Page(newest)
		severity := map[spec.Grade]string{spec.GradeBroken: "error", spec.GradeWarning: "warning", spec.GradeNote: "note"}[q.Grade(newest)]
		rule.Configuration.Level = severity
		rule.Properties["problem.severity"] = strings.Replace(severity, "note", "recommendation", 1)
		tags := []string{"mcp", q.Area, string(q.Level)}
		rule.Properties["tags"] = tags
		help += fmt.Sprintf("\n\n%s, on the basis %q, in %s. How it is seen: %s", q.Level, q.Basis(newest).DisplayName(), strings.Join(spec.NewestFirst(q.Revisions), ", "), plainText(q.Observe))
	}
	if q := spec.Requirements().Lookup(e.Requirement); q != nil && q.Fix != "" {
		help += "\n\nWhy it matters: " + plainText(q.Why) + "\n\nFix: " + plainText(q.Fix)
	}
	help += "\n\nmcp-conform explain " + Visible(e.Requirement)
	rule.Help = sarifText{Text: help, Markdown: html.EscapeString(help)}
	if rule.HelpURI != "" {
		rule.Help.Text += "\n" + rule.HelpURI
		rule.Help.Markdown += "\n\n[The specification](" + rule.HelpURI + ")"
	}
	return rule
}

// sarifSeverities maps levels to scores. From the score, GitHub derives whether a finding about
// security has high, medium or low severity.
var sarifSeverities = map[string]string{"error": "7.5", "warning": "5.0", "note": "2.0"}

// markSecurity marks the rule of a finding about security in the way that GitHub reads.
func (rule *sarifRule) markSecurity(e *entry) {
	tags, _ := rule.Properties["tags"].([]string)
	add := func(tag string) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	add(spec.AreaSecurity)
	if e.CWE > 0 {
		add(fmt.Sprintf("external/cwe/cwe-%03d", e.CWE))
	}
	rule.Properties["tags"] = tags
	rule.Properties["security-severity"] = sarifSeverities[rule.Configuration.Level]
}

func sarifResultOf(r *verdict.Report, e *entry, rule int) sarifResult {
	lines := []string{plainText(e.Summary), "Revisions: " + joinRevisions(e.revisions) + " over " + Visible(string(e.Transport)) + "."}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+plainText(text))
		}
	}
	add("", knownInSDK(&e.Finding))
	add("", e.describeBlocked())
	add("Permitted: ", e.Permitted)
	add("Seen: ", e.Seen)
	add("Fix: ", usualFix(&e.Finding))
	switch e.Outcome {
	case verdict.Flaky:
		add("Flaky: ", describeRetries(&e.Finding))
	case verdict.Unconfirmed:
		add("Unconfirmed: ", describeRetries(&e.Finding))
	default:
	}
	add("again: ", reproduceCommand(&e.Finding))
	server := cmp.Or(serverName(r), "server")
	out := sarifResult{
		RuleID: Visible(e.Requirement), RuleIndex: rule, Level: sarifLevels[e.Outcome], Message: sarifText{Text: strings.Join(lines, "\n")},
		Locations: []sarifLocation{{
			Physical: sarifPhysical{sarifArtifact{artifactURI(r.Artifact), sarifRoot}, sarifRegion{1}},
			Logical:  []sarifLogical{{Name: server, QualifiedName: server + "/" + Visible(string(e.Transport)) + "/" + Visible(e.Requirement), Kind: "module"}},
		}},
		Fingerprints: map[string]string{},
		Properties: map[string]any{
			"revisions": visibleAll(e.revisions), "transport": Visible(string(e.Transport)), "outcome": e.Outcome.String(), "judge": Visible(e.Judge),
			"findings": e.ids, "replay": clip(ShellQuote(e.Replay), replayMax),
			"events": NewConsole(io.Discard, ConsoleOptions{Width: sarifProperty}).excerptLines(e.Evidence, sarifEvents),
		},
	}
	if e.SDK != nil {
		out.Properties["sdk"] = e.SDK
	}
	if len(e.Script) > 0 {
		out.Properties["script"] = clipLines(e.Script)
	}
	// GitHub identifies alerts by the first fingerprint. If it is present,
	// GitHub does not compute one from the lines of the file, which are not the
	// cause of the finding.
	print := e.Key().Fingerprint()
	out.Fingerprints["primaryLocationLineHash"] = print + ":1"
	out.Fingerprints["mcpFinding/v1"] = print
	if e.Known != "" {
		out.Suppressions = []sarifSuppression{{"external", plainText(e.Known)}}
	}
	return out
}

func sarifInvocationOf(r *verdict.Report) sarifInvocation {
	in := sarifInvocation{Successful: r.Incomplete == "" && countRequirements(r, verdict.HarnessError) == 0}
	note := func(level, text string) {
		in.Notifications = append(in.Notifications, sarifNotification{level, sarifText{Text: plainText(text)}})
	}
	if r.Incomplete != "" {
		note("error", "The run is incomplete: "+r.Incomplete)
	}
	for i := range r.Stale[:min(len(r.Stale), listed)] {
		note("error", "Stale: "+staleEntry(r, &r.Stale[i]))
	}
	for _, n := range r.Notices[:min(len(r.Notices), listed)] {
		note("note", n)
	}
	if !r.Stats.Started.IsZero() {
		in.Start = r.Stats.Started.UTC().Format("2006-01-02T15:04:05Z")
		in.End = r.Stats.Started.Add(r.Stats.Took).UTC().Format("2006-01-02T15:04:05Z")
	}
	return in
}

// plainText clips text for a SARIF message, where "[text](target)" would be a
// link.
func plainText(text string) string {
	return strings.ReplaceAll(clip(text, sarifMessage), "](", `]\u0028`)
}

// pageAddress returns the address if it may be a link, or "".
func pageAddress(address string) string {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" || Visible(address) != address {
		return ""
	}
	return address
}

// artifactURI returns the path of a file as a relative reference.
func artifactURI(path string) string {
	u := url.URL{Path: strings.TrimLeft(Visible(cmp.Or(path, noArtifact)), "/")}
	return clip(u.String(), sarifMessage)
}

func visibleAll(rs []spec.Revision) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = Visible(string(r))
	}
	return out
}

// slug replaces the characters that may not occur in an identifier with hyphens, and cuts the text
// to 80 bytes.
func slug(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '-'
	}, head(text, 80))
}
