// Package suitetest runs the cases of one suite under go test or the ginkgo
// command: against the reference server, or against the server that the
// environment variable MCP_CONFORM_TARGET names (a command, split at spaces, or
// a URL).
package suitetest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const targetVariable = "MCP_CONFORM_TARGET"

// Declare declares the cases as Ginkgo specs, each for every given transport, by default stdio. A
// spec starts its case only when Ginkgo reaches it, so that ginkgo -p runs each case in one process
// only. t is the test that runs the specs with the returned configuration. With that configuration,
// ginkgo --label-filter selects the same specs as mcp-conform run with this filter.
func Declare(t *testing.T, cases []suite.Case, over ...spec.Transport) types.SuiteConfig {
	if len(over) == 0 {
		over = []spec.Transport{spec.Stdio}
	}
	if err := spec.CheckCatalogue(); err != nil {
		t.Fatal(err)
	}
	byID := map[string]suite.Case{}
	for _, c := range cases {
		byID[c.ID] = c
	}
	var specs []engine.Spec
	for _, transport := range over {
		for _, rev := range spec.Revisions() {
			specs = append(specs, engine.SpecsOf(cases, rev, transport)...)
		}
	}
	config, _ := ginkgo.GinkgoConfiguration()
	if filter, err := types.ParseLabelFilter(config.LabelFilter); err == nil && config.LabelFilter != "" { // Ginkgo reports the error
		for i := range specs {
			if specs[i].IsSelected(filter) {
				specs[i].Labels = append(specs[i].Labels, selectedLabel)
			}
		}
		config.LabelFilter = selectedLabel
	}
	engine.Declare(specs, func(ctx ginkgo.SpecContext, s engine.Spec) { judge(ctx, t, byID[s.Judge], s.Revision, s.Transport) })
	return config
}

// selectedLabel is the label of the specs that a label filter selects; see engine.Spec.IsSelected.
const selectedLabel = "selected"

func judge(ctx context.Context, t *testing.T, c suite.Case, rev spec.Revision, over spec.Transport) {
	expect := gomega.NewGomega(ginkgo.Fail).Expect
	d := dialer(over)
	var report *verdict.Report
	var result engine.SpecResult
	var err error
	run := func(ctx context.Context) {
		report, err = engine.Run(ctx, engine.Options{
			Dialer: d, Cases: []suite.Case{c}, Rules: ruleset.All(), Revisions: []spec.Revision{rev}, Target: "the server under test",
			Tree: func(p *engine.Plan) {
				for _, s := range p.Specs {
					if s.Judge == c.ID {
						result, _ = p.Await(ctx, s)
					}
				}
			},
		})
	}
	if _, here := d.(*stdio.InProcessDialer); here {
		synctest.Test(t, func(t *testing.T) { run(t.Context()) }) // a context from outside the bubble would stop its clock
	} else {
		run(ctx)
	}
	isReference := os.Getenv(targetVariable) == ""
	if none := (*engine.NothingJudgedError)(nil); !isReference && errors.As(err, &none) {
		ginkgo.Skip(none.Reason) // the server does not speak the revision
	}
	expect(err).NotTo(gomega.HaveOccurred())
	for _, f := range report.Findings {
		if isReference && f.Outcome > verdict.Note {
			ginkgo.Fail(fmt.Sprintf("%s: %s: %s\npermitted: %s\nseen: %s", f.Outcome, f.Requirement, f.Summary, f.Permitted, f.Seen))
		}
	}
	for _, v := range report.Verdicts {
		expect(v.Outcome).NotTo(gomega.Equal(verdict.HarnessError), "%s: %s", v.Requirement, v.Reason)
	}
	engine.Conclude(result)
}

// dialer returns a dialer for the server to run against.
func dialer(over spec.Transport) transport.Dialer {
	if words := strings.Fields(os.Getenv(targetVariable)); len(words) > 0 {
		if u, err := url.Parse(words[0]); err == nil && u.Host != "" && len(words) == 1 {
			return dialerFor(u, over)
		}
		return stdio.NewDialer(stdio.Command{Argv: words, Env: os.Environ()})
	}
	d, stop := ReferenceOver(over, refserver.Options{})
	ginkgo.DeferCleanup(stop)
	return d
}

// Reference returns a dialer for reference servers in this process.
func Reference(o refserver.Options) transport.Dialer {
	return inprocess.Dialer(func() refserver.Options { return o })
}
