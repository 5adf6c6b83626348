package sweep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostNamed limits how many servers or shards an error names.
const mostNamed = 10

// A shardFolder is a folder with the results of a shard.
type shardFolder struct {
	folder string
	*Sweep
}

func (p *shardFolder) String() string {
	if p.Shard == nil {
		return p.folder + " (the whole list)"
	}
	return fmt.Sprintf("%s (shard %v)", p.folder, *p.Shard)
}

// Merge combines all shards of a sweep into one result in the folder out, as if one machine had
// judged the whole list. Each of the folders is that of a shard, or contains folders of shards.
// Results that an earlier sweep or merge left in out are removed if their servers are not in the
// list. Errors are usage errors if shards are missing, overlap or are not finished.
func Merge(out string, folders []string) (*Sweep, error) {
	parts, err := readParts(folders)
	if err != nil {
		return nil, err
	}
	if out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if err := checkParts(parts); err != nil {
		return nil, err
	}
	w := &Sweep{Version: parts[0].Version, List: parts[0].List, All: parts[0].All}
	if parts[0].Shard != nil {
		w.Merged = len(parts)
	}
	from := map[string]*shardFolder{}
	for i := range parts {
		p := &parts[i]
		if p.folder == out && p.Shard != nil {
			return nil, usagef("name another folder", "--out %s is the folder of shard %v", out, *p.Shard)
		}
		for _, r := range p.Servers {
			if other := from[r.Name]; other != nil {
				return nil, usagef("judge all shards with the same --weights file", "server %q is in %v and in %v", r.Name, other, p)
			}
			from[r.Name] = p
			w.Servers = append(w.Servers, r)
		}
	}
	if len(w.Servers) != w.All {
		return nil, usagef("judge all shards again with the same --weights file", "together the shards have only %d of the %d servers of the list, because their --weights files differed", len(w.Servers), w.All)
	}
	w.summarise()
	unlock, err := lockFolder(out)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := os.MkdirAll(filepath.Join(out, "servers"), 0o755); err != nil { //nolint:gosec // the results are for others to read
		return nil, usagef("name a folder that can be written", "--out %s: %v", out, err)
	}
	removeLeftovers(out)
	for _, r := range w.Servers {
		if err := copyServer(r, from[r.Name].folder, out); err != nil {
			return nil, err
		}
	}
	if err := w.removeOthers(out); err != nil {
		return nil, err
	}
	return w, w.write(out)
}

// removeOthers removes the results of servers that are not in the sweep from its folder.
func (w *Sweep) removeOthers(out string) error {
	own := map[string]bool{}
	for _, r := range w.Servers {
		own[r.Folder] = true
	}
	entries, err := os.ReadDir(filepath.Join(out, "servers"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		folder := filepath.Join(out, "servers", entry.Name())
		if own[entry.Name()] || !exists(filepath.Join(folder, resultFile)) {
			continue
		}
		if err := removeAll(folder); err != nil {
			return err
		}
	}
	return nil
}

// readParts reads the results of shards. Each of the folders is that of a shard, or contains
// folders of shards. It reads each shard's folder only once.
func readParts(folders []string) ([]shardFolder, error) {
	var parts []shardFolder
	for _, folder := range folders {
		inside := []string{folder}
		if !exists(filepath.Join(folder, sweepFile)) {
			found, err := filepath.Glob(filepath.Join(escapeGlob(folder), "shard-*-of-*"))
			if err != nil {
				return nil, err
			}
			if len(found) > 0 {
				inside = found
			}
		}
		for _, folder := range inside {
			full, err := filepath.Abs(folder)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(parts, func(p shardFolder) bool { return p.folder == full }) {
				continue
			}
			w, err := Read(full)
			if err != nil {
				return nil, err
			}
			parts = append(parts, shardFolder{full, w})
		}
	}
	return parts, nil
}

// checkParts returns an error unless the parts are all shards of one finished sweep, or one whole
// sweep.
func checkParts(parts []shardFolder) error {
	first := &parts[0]
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Version != first.Version:
			return usagef("judge all shards with one version", "%v was judged by mcp-conform %s, and %v by %s", first, first.Version, p, p.Version)
		case p.List != first.List:
			return usagef("judge all shards of one list with the same flags", "%v and %v are shards of different lists, or were judged with different flags", first, p)
		case len(parts) > 1 && p.Shard == nil:
			return usagef("leave the other folders out", "%v overlaps with all shards", p)
		case p.Shard != nil && p.Shard.Count != first.Shard.Count:
			return usagef("judge the list with one number of shards", "%v and %v belong to different numbers of shards", first, p)
		}
		if names := p.pendingNames(); len(names) > 0 {
			return usagef("run it again; it continues where it stopped", "%v is not finished: %s", p, joinNames(names, "server", "servers"))
		}
	}
	if first.Shard == nil {
		return nil
	}
	slices.SortStableFunc(parts, func(a, b shardFolder) int { return cmp.Compare(a.Shard.Index, b.Shard.Index) })
	for i := 1; i < len(parts); i++ {
		if a, b := &parts[i-1], &parts[i]; a.Shard.Index == b.Shard.Index {
			return usagef("give one of them", "shard %v is in %s and in %s", *a.Shard, a.folder, b.folder)
		}
	}
	var missing []string
	at := 0
	for index := 1; index <= parts[0].Shard.Count; index++ {
		if at < len(parts) && parts[at].Shard.Index == index {
			at++
			continue
		}
		missing = append(missing, Shard{index, parts[0].Shard.Count}.String())
	}
	if len(missing) > 0 {
		return usagef("judge it, or name its folder", "a part of the list is missing: %s", joinNames(missing, "shard", "shards"))
	}
	return nil
}

// pendingNames returns the names of the servers that were not judged.
func (w *Sweep) pendingNames() []string {
	var out []string
	for _, r := range w.Servers {
		if r.Outcome == Pending {
			out = append(out, r.Name)
		}
	}
	return out
}

// joinNames lists names for an error, at most mostNamed of them, after a noun: the argument one is
// its singular, and many its plural.
func joinNames(names []string, one, many string) string {
	if len(names) == 1 {
		return one + " " + names[0]
	}
	text := many + " " + strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// copyServer copies the folder of a server from the folder of one sweep to that of another, unless
// the same result is already there.
func copyServer(r *Result, from, to string) error {
	if !isFolderOf(r.Folder, r.Name) {
		return usagef("", "%s: the folder %q of server %q can't be used", from, r.Folder, r.Name)
	}
	source, target := filepath.Join(from, "servers", r.Folder), filepath.Join(to, "servers", r.Folder)
	if source == target {
		return nil
	}
	theirs, err := os.ReadFile(filepath.Join(source, resultFile))
	if err != nil {
		return usagef("copy the whole folder of a shard", "the results of server %q are missing: %v", r.Name, err)
	}
	if ours, err := os.ReadFile(filepath.Join(target, resultFile)); err == nil && bytes.Equal(ours, theirs) {
		return r.checkCopy(theirs)
	}
	partial := filepath.Join(to, "servers", partialPrefix+r.Folder)
	if err := removeAll(partial); err != nil {
		return err
	}
	if err := os.Mkdir(partial, 0o755); err != nil { //nolint:gosec // the results are for others to read
		return err
	}
	defer func() { _ = removeAll(partial) }() // if it was not renamed
	for _, file := range append([]string{resultFile}, r.Reports...) {
		if file != filepath.Base(file) || file == "." || file == ".." {
			return usagef("", "%s: the report %q of server %q can't be used", from, file, r.Name)
		}
		if err := copyFile(filepath.Join(source, file), filepath.Join(partial, file)); err != nil {
			if !exists(filepath.Join(source, file)) {
				err = usagef("copy the whole folder of a shard", "a report of server %q is missing: %v", r.Name, err)
			}
			return err
		}
	}
	if err := r.checkCopy(theirs); err != nil {
		return err
	}
	if err := removeAll(target); err != nil {
		return err
	}
	return os.Rename(partial, target)
}

// checkCopy returns an error if the content of result.json differs from the result, which was read
// from sweep.json.
func (r *Result) checkCopy(text []byte) error {
	var own Result
	err := json.Unmarshal(text, &own)
	a, _ := json.Marshal(r) // cannot fail: both results come from JSON
	b, _ := json.Marshal(&own)
	if err != nil || !bytes.Equal(a, b) {
		return usagef("merge when all shards have ended; to update sweep.json, run the shard again", "the result of server %q differs from its entry in sweep.json", r.Name)
	}
	return nil
}

func copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	copied, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, f)
	return errors.Join(err, copied.Close())
}
