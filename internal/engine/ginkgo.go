package engine

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// tolerantT implements the part of testing.T that Ginkgo needs.
type tolerantT struct{}

// Fail implements ginkgo.GinkgoTestingT. It does nothing, because the run's own verdicts report
// failures.
func (tolerantT) Fail() {}

// Declare declares the specs as a Ginkgo tree: a container for each area, in the order of the
// cases. Each spec calls body. The engine's runs and the tests of the suites both use Declare, so
// their specs have the same text and labels.
func Declare(specs []Spec, body func(ginkgo.SpecContext, Spec)) {
	var areas []string
	byArea := map[string][]int{}
	for i, s := range specs {
		if byArea[s.Area] == nil {
			areas = append(areas, s.Area)
		}
		byArea[s.Area] = append(byArea[s.Area], i)
	}
	for _, area := range areas {
		ginkgo.Describe(area, locationOf(byArea[area][0], specs[byArea[area][0]]), func() {
			for _, i := range byArea[area] {
				s := specs[i]
				decorators := []any{ginkgo.Label(s.Labels...), locationOf(i, s), func(ctx ginkgo.SpecContext) { body(ctx, s) }}
				if s.Exclusive {
					decorators = append(decorators, ginkgo.Serial)
				}
				ginkgo.It(s.Text(), decorators...)
			}
		})
	}
}

// RunGinkgo runs the plan as a Ginkgo suite, whose specs wait for the verdicts of the run, and
// returns Ginkgo's own report. Ginkgo prints nothing. RunGinkgo can be called only once per
// process, because Ginkgo's suite is global.
func RunGinkgo(ctx context.Context, p *Plan) (report ginkgo.Report) {
	formatter.ColorableStdOut = io.Discard
	formatter.ColorableStdErr = io.Discard
	Declare(p.Specs, func(sc ginkgo.SpecContext, s Spec) {
		either, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(sc, cancel)()
		result, ok := p.Await(either, s)
		if !ok {
			ginkgo.Skip("the run ended before its time")
		}
		Conclude(result)
	})
	ginkgo.ReportAfterSuite("", func(r ginkgo.Report) { report = r })
	sc, rc := ginkgo.GinkgoConfiguration()
	sc.Timeout, sc.GracePeriod = 0, 300*time.Millisecond
	sc.LabelFilter, sc.FocusStrings, sc.SkipStrings = "", nil, nil // the plan holds only what is selected
	sc.OutputInterceptorMode = "none"
	rc.Succinct, rc.NoColor = true, true
	ginkgo.RunSpecs(tolerantT{}, "mcp-conform", sc, rc)
	report.SuiteConfig.LabelFilter = p.labels
	for i := range report.SpecReports { // a failure is located at the spec, not at a line of this program
		if s := &report.SpecReports[i]; s.Failure.Message != "" {
			s.Failure.Location = s.LeafNodeLocation
		}
	}
	return report
}

// Conclude ends the running spec. The spec fails if a requirement is broken or a case failed, and
// is skipped if nothing was judged. Either way, a report entry of the spec holds the outcome.
func Conclude(r SpecResult) {
	ginkgo.AddReportEntry("verdict", r.describe(), types.CodeLocation{CustomMessage: "verdict"})
	switch r.Outcome {
	case verdict.NotApplicable, verdict.NotObserved, verdict.Blocked:
		ginkgo.Skip(r.Outcome.String())
	case verdict.Broken, verdict.HarnessError:
		ginkgo.Fail(r.describe())
	case verdict.Kept, verdict.Note, verdict.Warning, verdict.Flaky, verdict.Unconfirmed:
	}
}

// describe describes the outcome, and the findings that are at least as severe as the outcome.
func (r *SpecResult) describe() string {
	lines := []string{r.Outcome.String()}
	for _, f := range r.Findings {
		if f.Outcome >= r.Outcome {
			lines = append(lines, f.Requirement+": "+f.Summary, "permitted: "+f.Permitted, "seen: "+f.Seen)
		}
	}
	return strings.Join(lines, "\n")
}

// locationOf returns an artificial code location. It keeps the specs in the order of declaration,
// and keeps paths of the build machine out of Ginkgo's reports.
func locationOf(i int, s Spec) types.CodeLocation {
	return types.CodeLocation{FileName: "case", LineNumber: i + 1, CustomMessage: s.Judge}
}
