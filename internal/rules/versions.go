package rules

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	knownVersion     = "versioning.initialize-known-version"
	respectedSince24 = "versioning.negotiated-version-respected-2024-11-05"
	respectedSince25 = "versioning.negotiated-version-respected-2025-06-18"
)

func versionRules() []Rule {
	return []Rule{
		{
			ID:           "rule.known-version",
			Title:        "the version in the result of initialize is a revision",
			Requirements: []string{knownVersion},
			Start:        WithoutState(Fold{AtEnd: judgeKnownVersion}),
		},
		{
			ID:           "rule.negotiated-version-respected",
			Title:        "no features newer than the negotiated revision",
			Requirements: []string{respectedSince24, respectedSince25},
			Start:        WithoutState(onMessage(judgeVersionRespected)),
		},
	}
}

// judgeKnownVersion judges the version in the result of initialize. It skips the version that the
// client requested, which is judged under versioning.initialize-other-version, and drafts, whose
// names are not published versions.
func judgeKnownVersion(s *Session, out *Reporter) {
	req := s.Initialize
	if req == nil || !req.Succeeded() {
		return
	}
	version, ok := wire.Text(req.Responses[0].ResultAt("/protocolVersion"))
	asked, _ := wire.Text(req.Message.ParamAt("/protocolVersion"))
	r := spec.Revision(version)
	switch {
	case !ok:
	case r.IsPublished() && r.Era() == spec.Handshake:
		out.MarkObserved(knownVersion)
	case version == asked, strings.Contains(strings.ToLower(version), "draft"):
		out.MarkReportedElsewhere(knownVersion)
	default:
		d := verdict.Deviation{
			Requirement: knownVersion,
			Summary:     "The server answers initialize with a version that does not exist.",
			Permitted:   "a published version that has initialize, such as " + string(spec.NewestHandshake),
			Seen:        "the version " + excerpt(wire.Quote(version)),
			At:          positionsOf(req.Event, req.Responses[0].Event),
			Pointer:     "/result/protocolVersion",
		}
		if r.IsPublished() {
			d.Summary = "The server answers initialize with a revision that has no initialize."
		}
		out.Report(d)
	}
}

// judgeVersionRespected looks for protocol features of later revisions. Extra members of objects
// are not among them, because each revision permits such members. Arrays (batches) are judged under
// base.batch-not-emitted.
func judgeVersionRespected(s *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
	if s.Initialize == nil || !s.Initialize.Succeeded() || s.Revision().Era() != spec.Handshake {
		return
	}
	req := s.requestOf(m)
	if req == s.Initialize || req == nil && m.Method == "" {
		return
	}
	var c *protocolFeature
	if req != nil {
		c = MemoResult(s, m, newestFeatureKey{req.Message.Method}, func() *protocolFeature { return newestFeatureInResult(req.Message.Method, m.Result()) })
	} else {
		c = newestFeatureInMessage(m)
	}
	if c == nil {
		return
	}
	switch {
	case s.Revision().AtLeast(c.since):
		out.MarkObserved(respectedSince24)
		out.MarkObserved(respectedSince25)
		return
	case c.content: // another requirement covers the types of content
		out.MarkReportedElsewhere(respectedSince24)
		out.MarkReportedElsewhere(respectedSince25)
		return
	}
	d := verdict.Deviation{
		Summary:   "The server uses a feature that the negotiated revision lacks.",
		Permitted: "what " + string(s.Revision()) + " knows; this came with " + string(c.since),
		Seen:      c.name + ": " + excerpt(m.Raw),
		At:        responsePositions(s, e, m),
	}
	for _, d.Requirement = range []string{respectedSince24, respectedSince25} {
		out.Report(d) // only the requirement that exists in the revision has an effect
	}
}

// protocolFeature is a part of a message, with the revision that introduced it.
type protocolFeature struct {
	name    string
	since   spec.Revision
	content bool // a type of content block
}

// newestFeatureKey is the memo key of the newest protocol feature that a result uses.
type newestFeatureKey struct{ method string }

// laterFeature returns the one of two features that the later revision introduced. Either may be
// nil.
func laterFeature(a, b *protocolFeature) *protocolFeature {
	if a == nil || b != nil && b.since > a.since {
		return b
	}
	return a
}

// newestFeatureInMessage returns the newest protocol feature in a request or notification of the
// server.
func newestFeatureInMessage(m *wire.Message) *protocolFeature {
	switch m.Method {
	case spec.MethodElicit:
		if mode, _ := wire.Text(m.ParamAt("/mode")); mode == "url" {
			return &protocolFeature{name: "elicitation in url mode", since: spec.V20251125}
		}
		return &protocolFeature{name: m.Method, since: spec.V20250618}
	case spec.MethodElicitDone, spec.MethodTasksGet, spec.MethodTasksResult, spec.MethodTasksList, spec.MethodTasksCancel, spec.MethodTasksStatus:
		return &protocolFeature{name: m.Method, since: spec.V20251125}
	case spec.MethodSampling:
		c := &protocolFeature{name: m.Method, since: spec.V20241105}
		for _, message := range wire.Elements(m.ParamAt("/messages")) {
			c = laterFeature(c, newestFeatureInContent(wire.At(message, "/content")))
		}
		return c
	case spec.MethodRootsList:
		return &protocolFeature{name: m.Method, since: spec.V20241105}
	}
	return nil
}

// newestFeatureInResult returns the newest protocol feature in the result of a request.
func newestFeatureInResult(method string, result jsontext.Value) *protocolFeature {
	if result.Kind() != '{' {
		return nil
	}
	if t, _ := wire.Text(wire.At(result, "/resultType")); t == spec.ResultInputRequired {
		return &protocolFeature{name: "a result of the type input_required", since: spec.V20260728}
	}
	var c *protocolFeature
	switch method {
	case spec.MethodToolsCall:
		content := wire.At(result, "/content")
		if id := wire.At(result, "/task/taskId"); id != nil && content == nil {
			return &protocolFeature{name: "a task instead of a result", since: spec.V20251125}
		}
		for _, block := range wire.Elements(content) {
			c = laterFeature(c, newestFeatureInContent(block))
		}
	case spec.MethodPromptsGet:
		for _, message := range wire.Elements(wire.At(result, "/messages")) {
			c = laterFeature(c, newestFeatureInContent(wire.At(message, "/content")))
		}
	}
	return c
}

func newestFeatureInContent(block jsontext.Value) *protocolFeature {
	switch kind, _ := wire.Text(wire.At(block, "/type")); kind {
	case "audio":
		return &protocolFeature{"audio content", spec.V20250326, true}
	case "resource_link":
		return &protocolFeature{"a resource link", spec.V20250618, true}
	case "text", "image", "resource":
		return &protocolFeature{kind + " content", spec.V20241105, true}
	default:
		return nil
	}
}
