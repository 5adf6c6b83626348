// Package versioning checks how a server negotiates the revision, in particular with a client
// that requests one that does not exist.
package versioning

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const (
	sameVersion      = "versioning.initialize-same-version"
	otherVersion     = "versioning.initialize-other-version"
	latestVersion    = "versioning.initialize-latest-version"
	unsupportedError = "versioning.initialize-unsupported-error"
	errorsPrepared   = "lifecycle.error-cases-prepared"
	respectedSince24 = "versioning.negotiated-version-respected-2024-11-05"
	respectedSince25 = "versioning.negotiated-version-respected-2025-06-18"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return append(statelessCases(), suite.Case{
		ID:    "versioning.unknown-version",
		Title: "Sends initialize with versions that do not exist: older, newer, and not a date",
		Requirements: []string{
			otherVersion, latestVersion, unsupportedError, errorsPrepared,
			"versioning.initialize-known-version", // judged by a rule
		},
		Run: requestUnknownVersions,
	}, promptCase(), repeatedCase(), erasCase())
}

// newestRevision returns the newest of the supported revisions, or "".
func newestRevision(spoken []spec.Revision) spec.Revision {
	if len(spoken) == 0 {
		return ""
	}
	return slices.Max(spoken)
}
