package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// maxReport limits the size of a report that is offered, in bytes.
const maxReport = 32 << 20

// scheme begins the URI of a report; its id follows.
const scheme = "report://"

func reportURI(id string) string { return scheme + id }

// serverOf returns the name of the server that the report with the id is about.
func serverOf(id string) string { return id[:max(0, strings.LastIndex(id, "-"))] }

// newReportID returns a new id that begins with name, and the path of a file in the folder for
// reports that is named after the id, with the extension ext. It creates the folder.
func (t *tools) newReportID(name, ext string) (id, path string, err error) {
	if err := os.MkdirAll(t.Reports, 0o700); err != nil {
		return "", "", errors.New("the folder for reports can't be created")
	}
	for n := 1; ; n++ {
		id = fmt.Sprintf("%s-%d", name, n)
		path = filepath.Join(t.Reports, id+ext)
		if _, err := os.Stat(path); err != nil {
			return id, path, nil
		}
	}
}

// offerReport adds a report to the resources of this MCP server.
func (t *tools) offerReport(id, path string) {
	t.mu.Lock()
	t.reports[id] = path
	t.mu.Unlock()
	t.server.AddResource(&mcp.Resource{
		Name: id, Title: "Report " + id, URI: reportURI(id), MIMEType: "application/json", Description: "The whole report of a run, as docs/reports.md describes it",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if info, err := os.Stat(path); err != nil || info.Size() > maxReport {
			return nil, mcp.ResourceNotFoundError(reportURI(id))
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, mcp.ResourceNotFoundError(reportURI(id))
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: reportURI(id), MIMEType: "application/json", Text: string(text)}}}, nil
	})
}

// offerOldReports offers the reports in the folder that earlier sessions wrote about servers that
// are still allowed.
func (t *tools) offerOldReports() {
	for _, path := range jsonFiles(t.Reports) {
		id := strings.TrimSuffix(filepath.Base(path), ".json")
		if _, err := t.allowedServer(serverOf(id)); err == nil {
			t.offerReport(id, path)
		}
	}
}

// jsonFiles returns the paths of the JSON files in a folder.
func jsonFiles(folder string) []string {
	out := []string{}
	entries, _ := os.ReadDir(folder) // none if it does not exist
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".json" {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out
}

// hasReport reports whether a report has this URI.
func (t *tools) hasReport(u string) bool {
	id, ok := strings.CutPrefix(u, scheme)
	t.mu.Lock()
	defer t.mu.Unlock()
	return ok && t.reports[id] != ""
}

// reportPath returns the path of a report, or an error that lists the ids of the known reports, at
// most maxFindings of them.
func (t *tools) reportPath(id string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if path, ok := t.reports[id]; ok {
		return path, nil
	}
	var ids []string
	for known := range t.reports {
		ids = append(ids, known)
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("there is no report %q: call run first", id)
	}
	slices.Sort(ids)
	ids, _ = truncateList(ids, maxFindings)
	return "", fmt.Errorf("there is no report %q; there are %s", id, strings.Join(ids, ", "))
}

// readReport reads a report in JSON. Its errors name the file without its folder.
func readReport(path string) (*verdict.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the report %s can't be read", filepath.Base(path))
	}
	var r verdict.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is not a report: %w", filepath.Base(path), err)
	}
	return &r, nil
}
