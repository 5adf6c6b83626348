package cli

import (
	"encoding/json"
	"io"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// ginkgoReport is the name of Ginkgo's own report of a run's specs.
const ginkgoReport = "ginkgo"

// writeSpecs writes Ginkgo's report in the format of ginkgo --json-report. If the run ended before
// its specs ran, the report contains the reason.
func (a *app) writeSpecs(w io.Writer, p *verdict.Report) error {
	report := types.Report{SuiteDescription: "mcp-conform", SpecialSuiteFailureReasons: []string{p.Incomplete}}
	if a.specs != nil {
		report = *a.specs
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode([]types.Report{report})
}

// reportNames returns the reports that the run can write. --watch cannot write
// Ginkgo's report, because Ginkgo can run only one suite per process.
func (f *runFlags) reportNames() []string {
	if f.watch.on {
		return reporters.Names()
	}
	return reportNames()
}
