package engine

import (
	"context"
	"io"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// tolerantT is all that Ginkgo asks of a testing.T.
type tolerantT struct{}

// Fail implements ginkgo.GinkgoTestingT; our own verdicts say what failed.
func (tolerantT) Fail() {}

// Ginkgo runs the plan as a Ginkgo suite: a container an area, a spec a case
// and revision, the rules in the last container. The specs await what the
// pool comes to. Ginkgo's own output is silenced: reports are made from our
// results. It can be called once in a process, as Ginkgo's suite is global.
func Ginkgo(ctx context.Context, p *Plan) {
	formatter.ColorableStdOut = io.Discard
	formatter.ColorableStdErr = io.Discard
	var areas []string
	byArea := map[string][]int{}
	for i, s := range p.Specs {
		if byArea[s.Area] == nil {
			areas = append(areas, s.Area)
		}
		byArea[s.Area] = append(byArea[s.Area], i)
	}
	for _, area := range areas {
		ginkgo.Describe(area, func() {
			for _, i := range byArea[area] {
				s := p.Specs[i]
				ginkgo.It(s.Title, ginkgo.Label(s.Labels...), place(i, s), func(sc ginkgo.SpecContext) {
					either, cancel := context.WithCancel(ctx)
					defer cancel()
					defer context.AfterFunc(sc, cancel)()
					outcome, ok := p.Await(either, s)
					switch {
					case !ok:
						ginkgo.Skip("the run ended before its time")
					case outcome == verdict.NotApplicable || outcome == verdict.NotObserved || outcome == verdict.Blocked:
						ginkgo.Skip(outcome.String())
					case outcome == verdict.Broken || outcome == verdict.HarnessError:
						ginkgo.Fail(outcome.String())
					}
				})
			}
		})
	}
	sc, rc := ginkgo.GinkgoConfiguration()
	sc.Timeout, sc.GracePeriod = 0, 300*time.Millisecond
	sc.LabelFilter, sc.FocusStrings, sc.SkipStrings = "", nil, nil // the selection was made before
	sc.OutputInterceptorMode = "none"
	rc.Succinct, rc.NoColor = true, true
	ginkgo.RunSpecs(tolerantT{}, "mcp-conform", sc, rc)
}

// place keeps the specs in the order of declaration, and build paths out of
// Ginkgo's reports.
func place(i int, s Spec) types.CodeLocation {
	return types.CodeLocation{FileName: "case", LineNumber: i + 1, CustomMessage: s.Judge}
}
