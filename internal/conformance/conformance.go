// Package conformance is the format of conformance reports: what a run shows about one
// implementation, profile by profile, in a file that a vendor publishes and others
// compare.
package conformance

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// The format of a report. The number in APIVersion grows when a reader of the older
// format would misread a newer report.
const (
	APIVersion = "mcp-conform/v1"
	Kind       = "ConformanceReport"
)

// SchemaFile is the name, in docs/, of the JSON Schema of the format.
const SchemaFile = "conformance-report.schema.json"

// Schema is the JSON Schema of the format.
//
//go:embed conformance-report.schema.json
var Schema []byte

// A Report is the content of a file.
type Report struct {
	APIVersion     string                 `yaml:"apiVersion"`
	Kind           string                 `yaml:"kind"`
	Implementation verdict.Implementation `yaml:"implementation"`
	Server         verdict.Server         `yaml:"server,omitempty"` // as the server reports it
	SDK            string                 `yaml:"sdk,omitempty"`
	Tool           Tool                   `yaml:"tool"`
	Date           string                 `yaml:"date"` // RFC 3339, in UTC
	Transports     []spec.Transport       `yaml:"transports,flow"`
	Revisions      []spec.Revision        `yaml:"revisions,flow"`       // newest first
	Incomplete     string                 `yaml:"incomplete,omitempty"` // why the run ended early, or that a focus or labels narrowed it
	Profiles       []Profile              `yaml:"profiles"`
	Findings       []Finding              `yaml:"findings"`
	Command        string                 `yaml:"command"` // reproduces the run
}

// A Tool is the version of mcp-conform that judged the server.
type Tool struct {
	Name      string `yaml:"name"`
	Version   string `yaml:"version"`
	Catalogue string `yaml:"catalogue"` // Digest of the catalogue
}

// A Profile is the result of a profile.
type Profile struct {
	Name     string               `yaml:"name"`
	Digest   string               `yaml:"digest"` // of the profile's file
	Result   string               `yaml:"result"`
	Core     verdict.ProfileCount `yaml:"core,flow"`
	Extended verdict.ProfileCount `yaml:"extended,flow"`
}

// A Finding is a requirement that was not kept.
type Finding struct {
	Requirement string          `yaml:"requirement"`
	Verdict     string          `yaml:"verdict"`
	Revisions   []spec.Revision `yaml:"revisions,flow"`  // newest first
	Known       string          `yaml:"known,omitempty"` // why it is known
}

// ProfileResult returns the result of the profile, without its digest.
func (p *Profile) ProfileResult() verdict.ProfileResult {
	return verdict.ProfileResult{Name: p.Name, Result: p.Result, Core: p.Core, Extended: p.Extended}
}

// Title returns the name of the implementation, or "" if it is unknown.
func (r *Report) Title() string {
	return cmp.Or(r.Implementation.Project, r.Server.Name)
}

// Digest returns a hexadecimal SHA-256 hash with the prefix that it has in reports.
func Digest(hexadecimal string) string { return "sha256:" + hexadecimal }

// Marshal returns the report as YAML.
func (r *Report) Marshal() ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(r); err != nil {
		return nil, fmt.Errorf("the conformance report can't be written: %w", err)
	}
	return b.Bytes(), encoder.Close()
}
