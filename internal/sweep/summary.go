package sweep

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Sweep is the content of sweep.json.
type Sweep struct {
	Format  int    `json:"format"`
	Tool    string `json:"tool"`
	Version string `json:"version"`
	// List identifies the whole list, the flags, the opt-out rules and the version of mcp-conform.
	// It is the same for all shards of a sweep.
	List    string          `json:"list"`
	All     int             `json:"all"`             // the number of servers in the whole list
	Shard   *Shard          `json:"shard,omitempty"` // nil for all servers
	Counts  map[Outcome]int `json:"counts"`
	SDKs    []SDK           `json:"sdks"`
	Shared  []SharedFinding `json:"findings"` // most severe first, and then most widespread
	Servers []*Result       `json:"servers"`  // sorted by name
	// Unfinished is the number of servers that Run was to judge and did not.
	Unfinished int `json:"-"`
	// Interrupted are the servers that Run was judging when its context ended.
	Interrupted []Running `json:"-"`
	// Merged is the number of shards that Merge combined; 0 if it copied a sweep of the whole list.
	Merged int `json:"-"`
}

// An SDK counts the servers that are built with one version of an SDK. Only servers with the
// outcome kept or broken count.
type SDK struct {
	SDK     string `json:"sdk"` // "" if it was not recognised
	Servers int    `json:"servers"`
	Broken  int    `json:"broken"`
}

// SharedFinding is a requirement for which servers have findings.
type SharedFinding struct {
	Requirement string          `json:"requirement"`
	Level       spec.Level      `json:"level"`
	Outcome     verdict.Outcome `json:"verdict"` // the most severe
	Summary     string          `json:"summary"` // the most frequent one of this verdict
	Servers     int             `json:"servers"`
	Alike       int             `json:"alike"` // the number of these servers with this verdict and summary
	OfSDK       int             `json:"ofSDK"` // the number of these servers whose SDK is known to cause it
	SDKs        map[string]int  `json:"sdks"`  // the number of these servers by SDK; "" if not recognised
}

// Description returns the summary, and how many servers have another one.
func (f *SharedFinding) Description() string {
	switch others := f.Servers - f.Alike; others {
	case 0:
		return f.Summary
	case 1:
		return f.Summary + " The finding of 1 other server differs."
	default:
		return fmt.Sprintf("%s The findings of %d other servers differ.", f.Summary, others)
	}
}

const (
	sweepFile = "sweep.json"
	indexFile = "index.html"
)

// currentSweep returns the sweep with the results so far.
func (s *supervisor) currentSweep() *Sweep {
	out := &Sweep{Version: s.Version, List: listDigest(s), All: len(s.Whole), Servers: []*Result{}}
	if s.Shard.Count > 1 {
		out.Shard = &s.Shard
	}
	for _, r := range s.results {
		out.Servers = append(out.Servers, r)
	}
	out.summarise()
	return out
}

// listDigest returns a digest of the whole list, the flags, the opt-out rules and the version of
// mcp-conform, see Sweep.List.
func listDigest(s *supervisor) string {
	whole := slices.SortedFunc(slices.Values(s.Whole), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	all := Entry{}
	for i := range whole {
		all.text = append(append(all.text, whole[i].Name...), 0)
		all.text = append(append(all.text, whole[i].text...), 0)
	}
	flags := slices.Concat(s.Flags, s.Env, s.Files, []string{s.Limits.Time.String()})
	if s.OptOut != nil {
		flags = slices.Concat(flags, s.OptOut.rules)
	}
	return entryDigest(&all, flags, s.Version)
}

// summarise sorts the results by name, and computes the fields that are derived from
// them.
func (w *Sweep) summarise() {
	w.Format, w.Tool = Format, "mcp-conform"
	slices.SortFunc(w.Servers, func(a, b *Result) int { return strings.Compare(a.Name, b.Name) })
	w.Counts = map[Outcome]int{}
	sdks, shared := map[string]*SDK{}, map[string]*SharedFinding{}
	alike := map[Finding]int{} // the number of servers by requirement, verdict and summary
	for _, r := range w.Servers {
		w.Counts[r.Outcome]++
		if r.Outcome == Kept || r.Outcome == Broken {
			sdk := sdks[r.SDK]
			if sdk == nil {
				sdk = &SDK{SDK: r.SDK}
				sdks[r.SDK] = sdk
			}
			sdk.Servers++
			if r.Outcome == Broken {
				sdk.Broken++
			}
		}
		for i := range r.Findings {
			f := &r.Findings[i]
			one := shared[f.Requirement]
			if one == nil {
				one = &SharedFinding{Requirement: f.Requirement, Level: f.Level, SDKs: map[string]int{}}
				shared[f.Requirement] = one
			}
			alike[Finding{Requirement: f.Requirement, Outcome: f.Outcome, Summary: f.Summary}]++
			one.Servers++
			one.SDKs[r.SDK]++
			if f.OfSDK {
				one.OfSDK++
			}
		}
	}
	for f, n := range alike {
		one := shared[f.Requirement]
		if cmp.Or(cmp.Compare(f.Outcome, one.Outcome), cmp.Compare(n, one.Alike), strings.Compare(one.Summary, f.Summary)) > 0 {
			one.Outcome, one.Summary, one.Alike = f.Outcome, f.Summary, n
		}
	}
	w.SDKs, w.Shared = []SDK{}, []SharedFinding{}
	for _, sdk := range sdks {
		w.SDKs = append(w.SDKs, *sdk)
	}
	for _, one := range shared {
		w.Shared = append(w.Shared, *one)
	}
	slices.SortFunc(w.SDKs, func(a, b SDK) int {
		return cmp.Or(cmp.Compare(b.Servers, a.Servers), strings.Compare(a.SDK, b.SDK))
	})
	slices.SortFunc(w.Shared, func(a, b SharedFinding) int {
		return cmp.Or(cmp.Compare(b.Outcome, a.Outcome), cmp.Compare(b.Servers, a.Servers), strings.Compare(a.Requirement, b.Requirement))
	})
}

// BySeverity returns the results in the order of Outcomes, and those of one outcome by name.
func (w *Sweep) BySeverity() []*Result {
	out := slices.Clone(w.Servers)
	slices.SortStableFunc(out, func(a, b *Result) int {
		return cmp.Compare(slices.Index(outcomes, a.Outcome), slices.Index(outcomes, b.Outcome))
	})
	return out
}

// Outcomes returns a phrase for each outcome that servers have, such as "3 broken".
func (w *Sweep) Outcomes() []string {
	var out []string
	for _, o := range outcomes {
		if n := w.Counts[o]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, o))
		}
	}
	return out
}

// Weights returns the seconds that each server took, by the name of the server.
func (w *Sweep) Weights() map[string]float64 {
	out := map[string]float64{}
	for _, r := range w.Servers {
		if r.Seconds > 0 {
			out[r.Name] = r.Seconds
		}
	}
	return out
}

func (s *supervisor) writeSweep() error {
	began := time.Now()
	err := s.currentSweep().write(s.Out)
	s.written, s.cost = time.Now(), time.Since(began)
	return err
}

// write writes sweep.json and the page that shows it.
func (w *Sweep) write(folder string) error {
	if err := writeJSON(filepath.Join(folder, sweepFile), w); err != nil {
		return err
	}
	return writeAtomically(filepath.Join(folder, indexFile), false, w.writePage)
}

// Read reads the sweep.json in a folder, or the file itself. Its errors are usage errors.
func Read(path string) (*Sweep, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, sweepFile)
	}
	const advice = "mcp-conform sweep writes sweep.json into its folder --out"
	text, err := os.ReadFile(path)
	if err != nil {
		var bare *os.PathError
		if errors.As(err, &bare) {
			err = bare.Err
		}
		return nil, usagef(advice, "%s can't be read: %v", path, err)
	}
	var w Sweep
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, usagef(advice, "%s is not a sweep: %v", path, err)
	}
	switch {
	case w.Tool != "mcp-conform" || w.Format == 0:
		return nil, usagef(advice, "%s is not a sweep of mcp-conform", path)
	case w.Format > Format:
		return nil, usagef("it was written by a newer version of mcp-conform", "%s has format %d; known is %d", path, w.Format, Format)
	case w.Shard != nil && (w.Shard.Index < 1 || w.Shard.Index > w.Shard.Count || w.Shard.Count > maxShards):
		return nil, usagef(advice, "%s is of shard %v, which can't be", path, *w.Shard)
	}
	for _, r := range w.Servers {
		if r == nil || !slices.Contains(outcomes, r.Outcome) {
			return nil, usagef(advice, "%s has a server without a known outcome", path)
		}
	}
	return &w, nil
}
