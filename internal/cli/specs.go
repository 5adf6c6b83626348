package cli

import (
	"encoding/json"
	"io"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// ginkgoReport is the report that Ginkgo itself makes of a run's specs.
const ginkgoReport = "ginkgo"

// writeSpecs writes Ginkgo's report in the form of ginkgo --json-report. Where the
// run came to no specs, it says why.
func (a *app) writeSpecs(w io.Writer, p *verdict.Report) error {
	report := types.Report{SuiteDescription: "mcp-conform", SpecialSuiteFailureReasons: []string{p.Incomplete}}
	if a.specs != nil {
		report = *a.specs
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode([]types.Report{report})
}

// reportNames returns those of the reports that the run can write: Ginkgo runs one
// suite in the life of a program, so --watch has none.
func (f *runFlags) reportNames() []string {
	if f.watch.on {
		return reporters.Names()
	}
	return reportNames()
}
