package stateless

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	discoverImplemented  = "discover.implemented"
	discoverVersions     = "discover.supported-versions"
	listedVersionsWork   = "discover.listed-versions-work"
	discoverCapabilities = "discover.capabilities"
	discoverConstant     = "discover.independent-of-connection"
	extensionID          = "versioning.extension-id-format"
)

func discoverRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.discover-answered",
			Title:        "server/discover gets a result",
			Requirements: []string{discoverImplemented},
			Start: func() rules.Fold {
				d := &discoveries{}
				return rules.Fold{OnMessage: rules.OnResponse(spec.MethodDiscover, d.note), AtEnd: d.judgeAnswers}
			},
		},
		{
			ID:           "rule.discover-result",
			Title:        "server/discover lists versions and extensions in a form that clients can use, the same each time",
			Requirements: []string{discoverVersions, extensionID, discoverConstant},
			Start: func() rules.Fold {
				d := &discoveries{}
				return rules.Fold{OnMessage: rules.Handlers{rules.ResultOf(spec.MethodDiscover): d.judgeResult}}
			},
		},
		{
			ID:           "rule.discovered-versions",
			Title:        "the versions that server/discover lists can be used",
			Requirements: []string{listedVersionsWork},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.OnResponse("", judgeListedVersion)}),
		},
		{
			ID:           "rule.discovered-capabilities",
			Title:        "lists are served where their capability is declared, and unknown methods where it is not",
			Requirements: []string{discoverCapabilities},
			Start:        rules.WithoutState(rules.Fold{OnMessage: listHandlers(judgeDiscoveredCapability)}),
		},
	}
}

// discoveries tracks the responses to server/discover.
type discoveries struct {
	served bool
	failed []*rules.Observation
	before []*rules.Observation // earlier results
}

func (d *discoveries) note(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	switch {
	case !isRegular(s, obs):
	case !obs.Message.IsError():
		d.served = true
	case codeOf(obs) != spec.CodeUnsupported: // an unsupported version is a valid reason
		d.failed = append(d.failed, obs)
	}
}

// judgeAnswers judges whether the server has server/discover. It judges at the end, because a
// single result shows that it has.
func (d *discoveries) judgeAnswers(_ *rules.Session, out *rules.Reporter) {
	if d.served {
		out.MarkObserved(discoverImplemented)
		return
	}
	for _, obs := range d.failed {
		found := deviationOf(discoverImplemented, obs)
		found.Summary, found.Permitted = "The server does not implement server/discover.", "a result"
		if codeOf(obs) != spec.CodeMethodNotFound {
			found.Summary, found.Weight = "The server answers server/discover with an error.", verdict.AtMostWarning
		}
		out.Report(found)
	}
}

// judgeResult judges the versions and extensions in a result of server/discover, and compares the
// result with earlier ones. It skips values of the wrong type, which the message shape rule
// reports.
func (d *discoveries) judgeResult(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) {
		return
	}
	result := obs.Message.Result()
	if versions, ok := stringsOf(obs.Message.ResultAt("/supportedVersions")); ok {
		judgeVersions(versions, obs, out)
	}
	judgeExtensions(result, obs, out)
	if obs.Request.IsRegular() {
		d.judgeConstancy(obs, out)
	}
}

// judgeVersions judges the listed versions. A deviation is at most a warning: no keyword requires,
// for example, that the list is not empty.
func judgeVersions(versions []string, obs *rules.Observation, out *rules.Reporter) {
	d := deviationOf(discoverVersions, obs)
	d.Pointer, d.Weight = "/result/supportedVersions", verdict.AtMostWarning
	repeated := indexOfRepeated(versions)
	switch {
	case len(versions) == 0:
		d.Summary, d.Permitted = "The server lists no supported version.", "the versions that the server supports"
	case !slices.Contains(versions, obs.Request.Metadata.Version):
		d.Summary, d.Permitted = "The server does not list the version by which it serves the request.", "a list that includes this version"
	case repeated >= 0:
		d.Summary, d.Permitted = "The server lists a supported version twice.", "each version once"
		d.Seen, d.Pointer = rules.Excerpt(wire.Quote(versions[repeated]))+" more than once", "/result/supportedVersions/"+strconv.Itoa(repeated)
	case slices.ContainsFunc(versions, func(v string) bool { return !spec.Revision(v).IsPublished() && !mayBeRevisionName(v) }):
		d.Weight = verdict.OnlyNote
		d.Summary, d.Permitted = "The server lists a version that does not exist.", "revisions of the specification, such as 2026-07-28"
	default:
		out.MarkObserved(discoverVersions)
		return
	}
	out.Report(d)
}

func judgeExtensions(result jsontext.Value, obs *rules.Observation, out *rules.Reporter) {
	names, _ := wire.Members(wire.At(result, "/capabilities/extensions"))
	for _, name := range names {
		part, syntax := rules.CheckPrefixedKey(name)
		if part == "" {
			out.MarkObserved(extensionID)
			continue
		}
		d := deviationOf(extensionID, obs)
		d.Summary, d.Permitted = "The server declares an extension whose identifier is malformed.", syntax
		d.Seen = "a malformed " + part + " in " + rules.Excerpt(wire.Quote(name))
		if !strings.Contains(name, "/") {
			d.Seen = "no prefix in " + rules.Excerpt(wire.Quote(name))
		}
		d.Pointer = string(jsontext.Pointer("/result/capabilities/extensions").AppendToken(name))
		out.Report(d)
	}
}

// judgeConstancy compares the results of requests with the same params.
func (d *discoveries) judgeConstancy(obs *rules.Observation, out *rules.Reporter) {
	for _, before := range d.before {
		if string(before.Request.Message.Params()) != string(obs.Request.Message.Params()) {
			continue
		}
		if isSameDiscovery(before.Message.Result(), obs.Message.Result()) {
			out.MarkObserved(discoverConstant)
			return
		}
		found := deviationOf(discoverConstant, obs)
		found.Summary, found.Permitted = "The server's result of server/discover changes from time to time.", "the same each time"
		found.At = rules.PositionsOf(before.Request.Event, before.Event, obs.Request.Event, obs.Event)
		changed := "capabilities"
		if canonicalJSON(before.Message.ResultAt("/capabilities")) == canonicalJSON(obs.Message.ResultAt("/capabilities")) {
			changed = "supportedVersions"
		}
		found.Seen = changed + " " + rules.Excerpt(obs.Message.ResultAt("/"+changed)) + ", and before " + rules.Excerpt(before.Message.ResultAt("/"+changed))
		found.Pointer, found.Earlier = "/result/"+changed, "/result/"+changed
		out.Report(found)
		return
	}
	if len(d.before) < maxNeeds {
		d.before = append(d.before, obs)
	}
}

func isSameDiscovery(a, b jsontext.Value) bool {
	v, _ := stringsOf(wire.At(a, "/supportedVersions"))
	w, _ := stringsOf(wire.At(b, "/supportedVersions"))
	return isSameSet(v, w) && canonicalJSON(wire.At(a, "/capabilities")) == canonicalJSON(wire.At(b, "/capabilities"))
}

func canonicalJSON(v jsontext.Value) string {
	v = slices.Clone(v)
	if v.Canonicalize() != nil {
		return ""
	}
	return string(v)
}

// judgeListedVersion judges requests with a version that server/discover lists: a handshake
// revision in initialize, any other version in the _meta of server/discover. If -32022 refuses a
// listed version in server/discover, that is judged as a misuse of the code.
func judgeListedVersion(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if !isFirstResponse(s, obs) || !req.WellFormed || len(req.HeaderFlaws) > 0 && req.Message.Method != spec.MethodInitialize {
		return
	}
	var version string
	switch {
	case req.Message.Method == spec.MethodInitialize && req.Metadata.Version == "":
		if version, _ = wire.Text(req.Message.ParamAt("/protocolVersion")); !isHandshake(version) || !req.IsValidInitialize() {
			return
		}
	case req.Message.Method == spec.MethodDiscover && req.Metadata.IsComplete() && !s.AppliesTo(req):
		if version = req.Metadata.Version; isHandshake(version) {
			return // the version may be served only after initialize
		}
	default:
		return
	}
	switch {
	case !slices.Contains(s.SupportedVersions(), version):
	case !obs.Message.IsError():
		out.MarkObserved(listedVersionsWork)
	case codeOf(obs) == spec.CodeUnsupported && req.Message.Method == spec.MethodDiscover:
		out.MarkReportedElsewhere(listedVersionsWork)
	default:
		d := deviationOf(listedVersionsWork, obs)
		d.Summary, d.Permitted = "The server refuses a version that server/discover lists.", "a result"
		d.Seen = "version " + rules.Excerpt(version) + ": " + d.Seen
		d.At, d.Earlier = rules.PositionsOf(s.Declaration.Responses[0].Event, req.Event, obs.Event), "/result/supportedVersions"
		out.Report(d)
	}
}

// listCapabilities maps each list method to the capability that a server must declare for it.
var listCapabilities = map[string]string{
	spec.MethodToolsList: "tools", spec.MethodPromptsList: "prompts",
	spec.MethodResourcesList: "resources", spec.MethodResourcesTemplates: "resources",
}

func listHandlers(handle func(s *rules.Session, obs *rules.Observation, out *rules.Reporter)) rules.Handlers {
	all := rules.Handlers{}
	for method := range listCapabilities {
		all = rules.MergeHandlers(all, rules.OnResponse(method, handle))
	}
	return all
}

// judgeDiscoveredCapability compares the response to a list request with the declared capabilities.
// It judges only the code of an error to an undeclared method: the rules of each feature judge
// lists that are served although undeclared, or refused although declared.
func judgeDiscoveredCapability(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isRegular(s, obs) || !s.Began() || s.Declaration.Event.Seq > obs.Request.Event.Seq {
		return
	}
	declared := s.ServerDeclared(listCapabilities[obs.Request.Message.Method])
	d := deviationOf(discoverCapabilities, obs)
	switch refused := obs.Message.IsError(); {
	case declared && !refused, !declared && refused && codeOf(obs) == spec.CodeMethodNotFound:
		out.MarkObserved(discoverCapabilities)
	case declared:
		out.MarkReportedElsewhere(discoverCapabilities)
	case !refused, obs.Request.Message.Method == spec.MethodResourcesTemplates: // templates are only a part of the resources capability
	case out.RequireInterpretable(obs, rules.PingControl(), discoverCapabilities):
		d.Summary, d.Permitted = "The server refuses an undeclared method, but not with -32601.", "error -32601"
		s.ShowDeclared(&d)
		out.Report(d)
	}
}
