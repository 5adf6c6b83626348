package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reporters"
)

func (a *app) replayCommand() *cobra.Command {
	f, through := &serverFlags{}, &throughFlags{}
	transcripts := ""
	c := &cobra.Command{
		Use:   "replay [flags] FILE COMMAND | replay [flags] FILE -- COMMAND ARGUMENT...",
		Short: "Reproduce a finding from a replay file",
		Long: `Reproduce a finding that mcp-conform fuzz --out or mcp-conform run --replay-files
wrote to a file, and report whether the server still shows it.

  mcp-conform replay out/01-base.response-once.json ./my-server
  mcp-conform replay out/01-base.response-once.json -- npx -y some-server

Exit codes: 0 FIXED, 1 STILL BROKEN, 4 CANNOT TELL, 2 usage, 3 the server could
not be started or reached.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("mcp-conform fuzz --out FOLDER and run --replay-files write them", "no replay file is named")
			}
			file := args[0]
			f.command = "replay " + reporters.ShellQuote([]string{file})
			f.takeTarget(c, args[1:])
			if f.target.Dash > 0 {
				f.target.Dash-- // the file is the argument before the dashes
			}
			through.allowCalls(c.Flags(), f)
			if err := a.configure(c.Flags(), f); err != nil {
				return err
			}
			if err := through.check(f.reference); err != nil {
				return err
			}
			defer through.end()
			if err := a.startGatewayUpstream(through, f); err != nil {
				return err
			}
			return through.explain(a.replay(f, file, transcripts))
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&f.reference, "reference", false, "replay it on the bundled reference server")
	f.registerTarget(fs)
	through.registerUpstream(fs)
	f.registerConfig(fs)
	fs.StringVar(&f.callTools, "call-tools", "safe", "tools that may be called: safe (readOnlyHint is true), all, none")
	fs.DurationVar(&f.timeout, "timeout", client.DefaultTimeout, "longest wait for the response to a request")
	fs.DurationVar(&f.start, "start-timeout", client.DefaultStartTimeout, startUsage)
	fs.StringVar(&transcripts, "transcript", "", "folder for the conversations of the last attempt, one file each")
	return c
}

// replay replays a file, and writes the conversations of the last attempt to the folder transcripts
// unless that is "".
func (a *app) replay(f *serverFlags, file, transcripts string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return usagef("name a file that mcp-conform fuzz --out or run --replay-files wrote", "%v", err)
	}
	r, err := script.ReadFile(data)
	if err != nil {
		return usagef("name a file that mcp-conform fuzz --out or run --replay-files wrote", "%s can't be replayed: %v", file, err)
	}
	if names := lawNames(); !slices.Contains(names, r.Expect.Law) {
		return usagef("known: "+strings.Join(names, ", "), "%s can't be replayed: it needs the law %q, which this program does not have", file, r.Expect.Law)
	}
	laws, err := lawsByName(lawNames())
	if err != nil {
		return err
	}
	defer a.handleSignals(interruptMessage)()
	s, err := a.open(f, nil)
	defer s.close()
	if err != nil {
		return err
	}
	for _, n := range s.notices {
		a.println(a.redactAndEscape(n))
	}
	o := s.options
	var recording *recorder
	if transcripts != "" {
		if recording, err = a.newRecorder(transcripts, o.Redactor, string(o.Dialer.Transport())); err != nil {
			return err
		}
	}
	out, err := fuzz.Replay(a.ctx, fuzz.Options{
		Dialer: o.Dialer, Laws: laws, Policy: o.Policy, Timeout: f.timeout, Start: f.start,
	}, r)
	if err != nil {
		return fuzzError(a.ctx, err, o)
	}
	if out.NotSpoken {
		if why := engine.WhyUnspoken(a.ctx, o); why != nil {
			return why
		}
	}
	if n := o.RateLimit(); n != "" {
		a.println(a.redactAndEscape(n))
	}
	a.println(fmt.Sprintf("%s: %s", out.Verdict, a.redactAndEscape(r.Expect.Requirement)))
	a.println("  " + a.redactAndEscape(r.Expect.Summary))
	a.println("  " + a.redactAndEscape(out.Reason))
	if out.Candidate != nil {
		a.println("  permitted: " + a.redactAndEscape(out.Candidate.Permitted))
		a.println("  seen:      " + a.redactAndEscape(out.Candidate.Seen))
	}
	if out.Verdict == fuzz.CannotTell {
		fmt.Fprintln(a.Out, "  "+a.redactAndEscape(nextAfterReplay(r, out, o.ServerArgs)))
	}
	a.code = map[fuzz.Verdict]int{fuzz.Fixed: ExitKept, fuzz.StillBroken: ExitBroken, fuzz.CannotTell: ExitNotJudged}[out.Verdict]
	if recording != nil && out.Evidence != nil {
		for i, conv := range out.Evidence.Conversations {
			recording.record(engine.Recorded{Name: fmt.Sprintf("replay-%d", i+1), Occasion: "replay of " + r.Expect.Requirement, Revision: r.Script.Revision, Events: conv.Events})
		}
	}
	return recording.err()
}

// nextAfterReplay returns a line with the command to use after a replay that could not decide whether
// the finding is fixed: the run that judges the requirement or, if the finding is about no
// requirement, the diagnosis of the server. args are the arguments with which these commands reach
// the server.
func nextAfterReplay(r *script.File, out *fuzz.ReplayResult, args []string) string {
	if spec.Requirements().Lookup(r.Expect.Requirement) == nil {
		return "next: " + reporters.ShellQuote(append([]string{"mcp-conform", "doctor"}, args...))
	}
	argv := []string{"mcp-conform", "run", "--focus", r.Expect.Requirement}
	if !out.NotSpoken {
		argv = append(argv, "--revision", string(r.Script.Revision))
	}
	return "next: " + reporters.ShellQuote(append(argv, args...))
}
