package stateless

import (
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	unsupportedVersion = "versioning.unsupported-version-error"
	knownLegacy        = "versioning.known-legacy-version-in-meta"
	supportedList      = "versioning.unsupported-version-supported-list"
	listConsistent     = "versioning.supported-list-consistent"
	unsupportedStatus  = "versioning.unsupported-version-http-400"
	initializeNames    = "versioning.modern-only-initialize-error"
	initializeRefused  = "versioning.modern-only-initialize-refused"
	initializeRemoved  = "stateless.removed.initialize"
)

func versionRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.unsupported-version",
			Title:        "an unsupported version is refused with -32022 and a list of the supported versions",
			Requirements: []string{unsupportedVersion, knownLegacy, supportedList, listConsistent, unsupportedStatus},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.OnResponse("", judgeOtherVersion)}),
		},
		{
			ID:           "rule.initialize-refused",
			Title:        "a server without handshake revisions refuses initialize and names its versions",
			Requirements: []string{initializeNames, initializeRefused, initializeRemoved},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.OnResponse(spec.MethodInitialize, judgeInitialize)}),
		},
	}
}

// date matches the form of revision names since 2024.
var date = lazyregexp.New(`^20(2[4-9]|[3-9]\d)-\d\d-\d\d$`)

// mayBeRevisionName reports whether a server may know a version that is not published: the version
// is called a draft, or is a date since 2024.
func mayBeRevisionName(version string) bool {
	_, err := time.Parse(time.DateOnly, version)
	return err == nil && date.MatchString(version) || strings.Contains(strings.ToLower(version), "draft")
}

func judgeOtherVersion(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if !isFirstResponse(s, obs) || !req.WellFormed || !req.HasLegalID() || !req.Metadata.IsComplete() || len(req.HeaderFlaws) > 0 || !slices.Contains(methods, req.Message.Method) {
		return
	}
	if s.AppliesTo(req) {
		if codeOf(obs) == spec.CodeUnsupported {
			judgeSupportedList(s, obs, out)
		}
		return
	}
	version := spec.Revision(req.Metadata.Version)
	if version == s.Revision() {
		return // an earlier request may have moved the process to an older revision
	}
	d := deviationOf(unsupportedVersion, obs)
	d.Earlier = versionOfRequest
	d.Permitted = "error -32022 with the versions that the server supports"
	d.Seen = "version " + rules.Excerpt(req.Metadata.Version) + ": " + d.Seen
	code := codeOf(obs)
	switch refused := obs.Message.IsError(); {
	case refused && code == spec.CodeUnsupported:
		if version.IsPublished() {
			out.MarkObserved(knownLegacy)
		} else {
			out.MarkObserved(unsupportedVersion)
		}
		judgeSupportedList(s, obs, out)
	case refused && code == spec.CodeMethodNotFound && (req.Message.Method != spec.MethodDiscover || !s.IsStatelessOnly()):
		// The server may check the method before the version, because the order is not specified;
		// and the handshake revisions have no server/discover.
	case version.IsPublished() && refused:
		d.Requirement, d.Summary = knownLegacy, "The server refuses a handshake revision in _meta, but not with -32022."
		if !s.IsStatelessOnly() {
			d.Weight = verdict.OnlyNote // the server may support the revision, after initialize; -32022 is for unsupported ones
		}
		out.Report(d)
	case version.IsPublished():
		out.MarkObserved(knownLegacy)
	case slices.Contains(s.SupportedVersions(), req.Metadata.Version) || mayBeRevisionName(req.Metadata.Version):
	default: // one summary for results and other errors, because servers do both, depending on the method
		d.Summary = "The server does not refuse an unsupported version with -32022."
		out.Report(d)
	}
}

// versionOfRequest is the pointer to the version in a request.
var versionOfRequest = "/params" + spec.MetaPointer(spec.MetaVersion)

// judgeSupportedList judges the data of an error -32022.
func judgeSupportedList(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	data := wire.At(obs.Message.Member("error"), "/data")
	supported, isList := stringsOf(wire.At(data, "/supported"))
	requested, _ := wire.Text(wire.At(data, "/requested"))
	asked := obs.Request.Metadata.Version
	d := deviationOf(supportedList, obs)
	d.Permitted = "data.supported with the versions that the server supports, and data.requested with the version of the request"
	switch {
	case !isList || len(supported) == 0:
		d.Summary = "The server's error -32022 does not list the supported versions."
		out.Report(d)
	case requested != asked:
		d.Summary = "The server's error -32022 does not repeat the requested version."
		d.Pointer = "/error/data/requested"
		out.Report(d)
	case slices.Contains(supported, asked) && !(spec.Revision(asked).IsPublished() && isHandshake(asked)):
		d.Summary, d.Weight = "The server's error -32022 lists the version that it refuses.", verdict.AtMostWarning
		d.Pointer = "/error/data/supported"
		out.Report(d)
	default:
		out.MarkObserved(supportedList)
	}
	if known := s.SupportedVersions(); len(known) > 0 && len(supported) > 0 {
		d = deviationOf(listConsistent, obs)
		if isSameSet(known, supported) {
			out.MarkObserved(listConsistent)
		} else {
			d.Summary, d.Permitted = "The server's error -32022 lists other versions than server/discover.", "the same versions"
			d.At = rules.PositionsOf(s.Declaration.Responses[0].Event, obs.Request.Event, obs.Event)
			d.Seen = rules.Excerpt(wire.At(data, "/supported")) + ", and from server/discover " + rules.Excerpt(s.Declaration.Responses[0].ResultAt("/supportedVersions"))
			d.Pointer, d.Earlier = "/error/data/supported", "/result/supportedVersions"
			out.Report(d)
		}
	}
	if obs.Request.Exchange == nil {
		return
	}
	if statusOf(obs) == 400 {
		out.MarkObserved(unsupportedStatus)
		return
	}
	d = deviationOf(unsupportedStatus, obs)
	d.Summary, d.Permitted = "The server's error -32022 comes with a status other than 400.", "status 400"
	d.Seen = obs.Request.Exchange.ResponseHead().Line + ": " + d.Seen
	out.Report(d)
}

// stringsOf returns the strings of an array; false if it is not an array of strings.
func stringsOf(v []byte) ([]string, bool) {
	var out []string
	for _, e := range wire.Elements(v) {
		text, ok := wire.Text(e)
		if !ok {
			return nil, false
		}
		out = append(out, text)
	}
	return out, len(v) > 0 && v[0] == '['
}

func isSameSet(a, b []string) bool {
	covers := func(a, b []string) bool {
		return !slices.ContainsFunc(b, func(v string) bool { return !slices.Contains(a, v) })
	}
	return covers(a, b) && covers(b, a)
}

// judgeInitialize judges the response to initialize from a server that lists no handshake
// revision. If the server serves initialize, it does support a handshake revision.
func judgeInitialize(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if !isFirstResponse(s, obs) || !req.WellFormed || !s.ListsNoHandshake() {
		return
	}
	requirement := initializeRefused
	if req.Metadata.Version == string(s.Revision()) && req.Metadata.IsComplete() {
		requirement = initializeRemoved
	}
	d := deviationOf(requirement, obs)
	if !obs.Message.IsError() {
		chosen, _ := wire.Text(obs.Message.ResultAt("/protocolVersion"))
		switch {
		case !isHandshake(chosen):
			d.Summary, d.Permitted = "The server serves initialize, and chooses no handshake revision.", "an error, or a revision that has initialize, such as 2025-11-25"
			d.Pointer = "/result/protocolVersion"
			out.Report(d)
		case requirement == initializeRemoved && s.IsStatelessOnly():
			d.Summary, d.Permitted = "The server serves initialize with the metadata of this revision.", "an error"
			out.Report(d)
		}
		return
	}
	if x := req.Exchange; x != nil && requirement == initializeRefused && !x.RequestHead().Has(headers.Method) && x.Status() != 400 {
		d.Summary, d.Permitted = "The server refuses a plain initialize, but not with status 400.", "status 400"
		d.Seen = x.ResponseHead().Line + ": " + d.Seen
		out.Report(d)
	} else {
		out.MarkObserved(requirement)
	}
	if slices.ContainsFunc(s.SupportedVersions(), func(v string) bool { return strings.Contains(string(obs.Message.Member("error")), v) }) {
		out.MarkObserved(initializeNames)
		return
	}
	d = deviationOf(initializeNames, obs)
	d.Summary, d.Permitted = "The server's error to initialize names no supported version.", "the supported versions, in the message or the data of the error"
	if requirement == initializeRemoved {
		d.Weight = verdict.OnlyNote // only clients of a handshake revision need the names, and such clients send no metadata
	}
	out.Report(d)
}

func isHandshake(version string) bool { return spec.Revision(version).Era() == spec.Handshake }
