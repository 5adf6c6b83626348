package agent

import (
	"cmp"
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type explainInput struct {
	ID string `json:"id" jsonschema:"the id of a requirement, a case, a rule or a profile, such as base.response-id-echo"`
}

type explained struct {
	ID   string `json:"id"`
	Text string `json:"text" jsonschema:"what it says, why it matters, the usual cause and fix"`
}

func (t *tools) explain(ctx context.Context, _ *mcp.CallToolRequest, in explainInput) (explained, error) {
	e, err := t.runChild(ctx, nil, "explain", "--", in.ID)
	if err != nil {
		return explained{}, err
	}
	if e.code != 0 {
		return explained{}, e.failure()
	}
	return explained{in.ID, e.out}, nil
}

type listInput struct {
	What string `json:"what,omitempty" jsonschema:"requirements, cases, rules, faults or profiles; requirements if left out"`
	Text string `json:"text,omitempty" jsonschema:"list only those whose id or title contains this text"`
}

type listed struct {
	Entries []entry `json:"entries"`
	LeftOut int     `json:"leftOut,omitempty" jsonschema:"how many more there are; give a longer text to see them"`
}

type entry struct {
	ID    string `json:"id"`
	Level string `json:"level,omitempty" jsonschema:"MUST, SHOULD or MAY"`
	About string `json:"about,omitempty" jsonschema:"revisions of a requirement, requirements of a case or rule"`
	Title string `json:"title"`
}

// maxEntries limits the number of entries in a result of the tool whose name is list.
const maxEntries = 100

func (t *tools) list(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (listed, error) {
	args := []string{"list", "--", cmp.Or(in.What, "requirements"), in.Text}
	if in.What == "profiles" {
		args = []string{"list", "--profiles"}
	}
	e, err := t.runChild(ctx, nil, args...)
	if err != nil {
		return listed{}, err
	}
	if e.code != 0 {
		return listed{}, e.failure()
	}
	var all []entry
	for line := range strings.Lines(e.out) {
		f := strings.SplitN(strings.TrimRight(line, "\r\n"), "\t", 4)
		for len(f) < 4 {
			f = append(f, "")
		}
		if in.What != "profiles" || strings.Contains(line, in.Text) {
			all = append(all, entry{f[0], f[1], f[2], f[3]})
		}
	}
	out := listed{}
	out.Entries, out.LeftOut = truncateList(all, maxEntries)
	return out, nil
}

type diffInput struct {
	Old string `json:"old" jsonschema:"the id of the older report"`
	New string `json:"new" jsonschema:"the id of the newer report"`
}

type differences struct {
	Worse   bool     `json:"worse" jsonschema:"whether something is broken that was not before"`
	Changes []string `json:"changes" jsonschema:"a line for each finding: NEW, FIXED, UNCHANGED, LOST"`
	Summary string   `json:"summary" jsonschema:"how many of each there are"`
}

func (t *tools) diff(ctx context.Context, _ *mcp.CallToolRequest, in diffInput) (differences, error) {
	older, err := t.reportPath(in.Old)
	if err != nil {
		return differences{}, err
	}
	newer, err := t.reportPath(in.New)
	if err != nil {
		return differences{}, err
	}
	e, err := t.runChild(ctx, nil, "diff", older, newer)
	if err != nil {
		return differences{}, err
	}
	if e.code > 1 {
		return differences{}, e.failure()
	}
	lines := strings.Split(strings.TrimSpace(e.out), "\n")
	last := len(lines) - 1
	return differences{Worse: e.code == 1, Changes: append([]string{}, lines[:last]...), Summary: lines[last]}, nil
}
