package stateless

import (
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	hintsRequired  = "caching.hints.required"
	hintsAbsent    = "caching.hints.absent-on-input-required"
	ttlInteger     = "caching.ttl.integer"
	ttlNotNegative = "caching.ttl.non-negative"
	ttlPerPage     = "caching.ttl.per-page"
	scopeKnown     = "caching.scope.known-value"
	scopeConstant  = "caching.scope.same-on-all-pages"
)

// cacheable are the methods whose complete results have cache hints.
var cacheable = []string{
	spec.MethodDiscover, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates,
	spec.MethodResourcesRead,
}

func cachingRules() []rules.Rule {
	handlers := rules.Handlers{rules.InputRequired(""): judgeInputRequiredHints}
	for _, method := range cacheable {
		handlers[rules.ResultOf(method)] = judgeHints
	}
	return []rules.Rule{
		{
			ID:           "rule.cache-hints",
			Title:        "results that may be cached say for how long and for whom",
			Requirements: []string{hintsRequired, hintsAbsent, ttlInteger, ttlNotNegative, ttlPerPage, scopeKnown},
			Start:        rules.WithoutState(rules.Fold{OnMessage: handlers}),
		},
		{
			ID:           "rule.cache-scope-of-pages",
			Title:        "all pages of a list have the same cacheScope",
			Requirements: []string{scopeConstant},
			Start: func() rules.Fold {
				p := &pageScopes{returned: map[string]*rules.Observation{}, several: map[string]bool{}}
				all := rules.Handlers{}
				for method := range listCapabilities {
					all[rules.ResultOf(method)] = p.judge
				}
				return rules.Fold{OnMessage: all}
			},
		},
	}
}

func judgeInputRequiredHints(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) || obs.Request.Message.Method != spec.MethodResourcesRead && !hasHints(obs) {
		return
	}
	if !hasHints(obs) {
		out.MarkObserved(hintsAbsent)
		return
	}
	d := deviationOf(hintsAbsent, obs)
	d.Summary, d.Permitted = "The server's result that requires input has caching hints.", "neither ttlMs nor cacheScope"
	present := slices.DeleteFunc([]string{"cacheScope", "ttlMs"}, func(name string) bool { return obs.Message.ResultAt("/"+name) == nil })
	d.Seen, d.Pointer = strings.Join(present, " and ")+" in a result of type input_required", "/result/"+present[len(present)-1]
	out.Report(d)
}

func hasHints(obs *rules.Observation) bool {
	return obs.Message.ResultAt("/ttlMs") != nil || obs.Message.ResultAt("/cacheScope") != nil
}

// missingHints names the missing members, as words that follow "no" in a sentence.
func missingHints(ttl, scope []byte) string {
	switch {
	case ttl != nil:
		return "cacheScope"
	case scope != nil:
		return "ttlMs"
	default:
		return "ttlMs and no cacheScope"
	}
}

func judgeHints(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	result := obs.Message.Result()
	if !isJudged(s, obs) || result.Kind() != '{' {
		return
	}
	if hasOlderForm(obs) {
		out.MarkReportedElsewhere(hintsRequired)
		out.MarkReportedElsewhere(ttlPerPage)
		return
	}
	ttl, scope := obs.Message.ResultAt("/ttlMs"), obs.Message.ResultAt("/cacheScope")
	later := obs.Request.Message.ParamAt("/cursor").Kind() == '"'
	switch {
	case ttl == nil && scope != nil && later:
		d := deviationOf(ttlPerPage, obs)
		d.Summary, d.Permitted = "A later page of the server's list has no ttlMs.", "ttlMs and cacheScope on every page"
		d.Seen = "a later page of " + obs.Request.Message.Method + " with no ttlMs"
		out.Report(d)
		out.MarkReportedElsewhere(hintsRequired)
	case ttl == nil || scope == nil:
		d := deviationOf(hintsRequired, obs)
		d.Summary, d.Permitted = "The server's result lacks ttlMs or cacheScope.", "ttlMs and cacheScope"
		d.Seen = "a result of " + obs.Request.Message.Method + " with no " + missingHints(ttl, scope)
		out.Report(d)
		out.MarkReportedElsewhere(ttlPerPage)
	default:
		out.MarkObserved(hintsRequired)
		if later {
			out.MarkObserved(ttlPerPage)
		}
	}
	if ttl != nil {
		judgeTTL(ttl, obs, out)
	}
	if scope != nil {
		judgeScope(scope, obs, out)
	}
}

func judgeTTL(ttl jsontext.Value, obs *rules.Observation, out *rules.Reporter) {
	deviates := func(requirement, summary, permitted string) {
		d := deviationOf(requirement, obs)
		d.Pointer, d.Summary, d.Permitted, d.Seen = "/result/ttlMs", summary, permitted, "ttlMs "+rules.Excerpt(ttl)
		out.Report(d)
	}
	if !wire.RawID(string(ttl)).IsInteger() {
		deviates(ttlInteger, "The server's ttlMs is not an integer.", "a whole number of milliseconds")
		return
	}
	out.MarkObserved(ttlInteger)
	if isNegative(ttl) {
		deviates(ttlNotNegative, "The server's ttlMs is negative.", "0 or more")
		return
	}
	out.MarkObserved(ttlNotNegative)
}

// isNegative reports whether a number is less than 0; -0 is not.
func isNegative(v jsontext.Value) bool {
	if v[0] != '-' {
		return false
	}
	n, ok := new(big.Rat).SetString(string(v))
	return ok && n.Sign() < 0
}

func judgeScope(scope jsontext.Value, obs *rules.Observation, out *rules.Reporter) {
	if text, _ := wire.Text(scope); text == "public" || text == "private" {
		out.MarkObserved(scopeKnown)
		return
	}
	d := deviationOf(scopeKnown, obs)
	d.Pointer, d.Seen = "/result/cacheScope", "cacheScope "+rules.Excerpt(scope)
	d.Summary, d.Permitted = "The server's cacheScope is neither public nor private.", `"public" or "private"`
	out.Report(d)
}

// pageScopes follows the cursors from page to page.
type pageScopes struct {
	returned map[string]*rules.Observation // the page that returned a cursor, by method and cursor
	several  map[string]bool               // cursors returned by pages with different scopes
}

func (p *pageScopes) judge(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isRegular(s, obs) {
		return
	}
	method := obs.Request.Message.Method
	if cursor, ok := wire.Text(obs.Request.Message.ParamAt("/cursor")); ok {
		if before := p.returned[method+" "+cursor]; before != nil && !p.several[method+" "+cursor] {
			judgeScopes(before, obs, out)
		}
	}
	if next, ok := wire.Text(obs.Message.ResultAt("/nextCursor")); ok {
		key := method + " " + next
		if other := p.returned[key]; other != nil && scopeOf(other) != scopeOf(obs) {
			p.several[key] = true
		}
		p.returned[key] = obs
	}
}

func scopeOf(obs *rules.Observation) string {
	text, _ := wire.Text(obs.Message.ResultAt("/cacheScope"))
	return text
}

func judgeScopes(before, obs *rules.Observation, out *rules.Reporter) {
	switch was, is := scopeOf(before), scopeOf(obs); {
	case was == "" || is == "": // another rule judges a missing scope
	case was == is:
		out.MarkObserved(scopeConstant)
	default:
		out.Report(verdict.Deviation{
			Requirement: scopeConstant, Summary: "The server's pages of a list have different cacheScopes.",
			Permitted: "the same cacheScope on all pages", Seen: was + " on one page, " + is + " on the next",
			At: rules.PositionsOf(before.Request.Event, before.Event, obs.Request.Event, obs.Event), Pointer: "/result/cacheScope", Earlier: "/result/cacheScope",
		})
	}
}
