package serverfeatures

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	promptListedGettable    = "prompts.get.listed-is-gettable"
	promptArgumentsOptional = "prompts.get.arguments-optional"
	promptUnknown           = "prompts.get.unknown-name"
	promptMissingArgument   = "prompts.get.missing-required-argument"
	promptValidates         = "prompts.get.validates-arguments"
	promptMissingName       = "prompts.get.missing-name"
	promptNotSupported      = "prompts.get.not-supported-error"
)

// promptRules returns the rules on prompts.
func promptRules() []rules.Rule {
	return slices.Concat(promptFeature.rules(), []rules.Rule{
		{
			ID:           "rule.prompts-found",
			Title:        "listed prompts are found by their names, and others are refused with an error",
			Requirements: []string{promptListedGettable, promptUnknown, promptMissingName, promptNotSupported},
			Start:        promptsFound,
		},
		{
			ID:           "rule.prompts-arguments",
			Title:        "prompts require their required arguments, accept only strings, and need no arguments otherwise",
			Requirements: []string{promptMissingArgument, promptValidates, promptArgumentsOptional},
			Start:        promptArguments,
		},
	})
}

// invalidParamsCheck judges the response to a request that should get error -32602.
type invalidParamsCheck struct {
	requirement string
	served      string // the summary if the request gets a result
	miscoded    string // the summary if the request gets another error
	weight      verdict.Weight
	flaw        string // what is wrong with the request, for Seen; "" if the summary says it
}

// judge judges the response in obs. A refusal counts only if the comparison with the control shows
// that the flaw may be its reason (see Reporter.RequireInterpretable).
func (i invalidParamsCheck) judge(obs *rules.Observation, like rules.Control, out *rules.Reporter) {
	if !out.RequireInterpretable(obs, like, i.requirement) {
		return
	}
	d := deviationOf(i.requirement, obs)
	d.Permitted, d.Summary = "error -32602", i.served
	if i.flaw != "" {
		d.Seen = describeDespite(obs, i.flaw)
	}
	if obs.Message.IsError() {
		if code, _ := obs.Message.ErrorCode(); spec.Code(code) == spec.CodeInvalidParams {
			out.MarkObserved(i.requirement)
			return
		}
		d.Summary, d.Weight = i.miscoded, i.weight
	}
	out.Report(d)
}

// onGetResponses returns handlers that call the function judge for regular responses to
// prompts/get. named is set if the requested name is a string.
func onGetResponses(judge func(s *rules.Session, name string, named bool, obs *rules.Observation, out *rules.Reporter)) rules.Handlers {
	handler := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if isRegular(s, obs) {
			name, named := wire.Text(obs.Request.Message.ParamAt("/name"))
			judge(s, name, named, obs, out)
		}
	}
	return rules.Handlers{rules.ResultOf(spec.MethodPromptsGet): handler, rules.ErrorTo(spec.MethodPromptsGet): handler}
}

func promptsFound() rules.Fold {
	return rules.Fold{Shared: readsCatalog, OnMessage: onGetResponses(func(s *rules.Session, name string, named bool, obs *rules.Observation, out *rules.Reporter) {
		b := catalogs.Of(s)
		switch declared, malformed := declaresCapability(s, "prompts"); {
		case malformed:
		case !declared:
			if out.RequireInterpretable(obs, rules.PingControl(), promptNotSupported) {
				judgeUndeclaredGet(s, obs, out)
			}
		case !named:
			invalidParamsCheck{
				promptMissingName, "The server serves prompts/get without a name.",
				"The server refuses prompts/get with a missing or mistyped name, but not with -32602.", verdict.OnlyNote,
				describeFlaw("params.name", obs.Request.Message.ParamAt("/name")),
			}.judge(obs, b.anyPromptControl(), out)
		case b.prompts.seen[name] != nil:
			judgeListedGet(b.prompts.seen[name], name, obs, out)
		case obs.Message.IsError() && !hasValidArguments(obs.Request): // the arguments may be the reason
		case b.prompts.isKnownAbsent(s, name, obs.Request, !obs.Message.IsError()):
			invalidParamsCheck{
				promptUnknown, "The server serves a prompt that is not listed.",
				"The server refuses an unknown prompt, but not with -32602.", verdict.Full, "",
			}.judge(obs, b.anyPromptControl(), out)
		}
	})}
}

// validPromptControl returns the control for an odd prompts/get: a request for the same prompt with
// all required arguments.
func (b *catalog) validPromptControl(name string) rules.Control {
	return rules.Control{
		What:    "a request for " + rules.Excerpt(wire.Quote(name)) + " with its required arguments",
		Matches: func(req *rules.Request) bool { return b.isValidGet(req, name) },
	}
}

// anyPromptControl returns the control for requests that name no prompt or an unlisted one: a
// request for any listed prompt with all required arguments, or else a prompts/list.
func (b *catalog) anyPromptControl() rules.Control {
	return rules.Control{
		What: "a request for a listed prompt", ByName: true,
		Matches:  func(req *rules.Request) bool { return b.isValidGet(req, "") },
		Fallback: func(req *rules.Request) bool { return req.Message.Method == spec.MethodPromptsList },
	}
}

func (b *catalog) isValidGet(req *rules.Request, name string) bool {
	asked, _ := wire.Text(req.Message.ParamAt("/name"))
	prompt := b.prompts.seen[asked]
	return req.Message.Method == spec.MethodPromptsGet && (name == "" || asked == name) && prompt != nil && missingArgument(prompt, req) == "" && hasValidArguments(req)
}

// judgeUndeclaredGet judges the response to prompts/get from a server that does not declare
// prompts.
func judgeUndeclaredGet(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	switch {
	case obs.Message.IsError():
		out.MarkObserved(promptNotSupported)
	case promptFeature.showsItem(obs.Message):
		out.MarkReportedElsewhere(promptNotSupported)
	default:
		d := deviationOf(promptNotSupported, obs)
		d.Summary, d.Permitted = "The server serves a prompt without declaring prompts.", "an error"
		s.ShowDeclared(&d)
		out.Report(d)
	}
}

// judgeListedGet judges whether the server denies that a listed prompt exists. "Method not found"
// is such a denial too, because all prompts have the same method.
func judgeListedGet(prompt jsontext.Value, name string, obs *rules.Observation, out *rules.Reporter) {
	if missingArgument(prompt, obs.Request) != "" {
		return
	}
	code, _ := obs.Message.ErrorCode()
	if !obs.Message.IsError() || spec.Code(code) != spec.CodeMethodNotFound && !isUnknownNameError("prompt", name, obs.Message) {
		out.MarkObserved(promptListedGettable)
		return
	}
	d := deviationOf(promptListedGettable, obs)
	d.Summary, d.Permitted = "The server reports a listed prompt as unknown.", "a result, or an error other than an unknown prompt"
	out.Report(d)
}

// missingArgument returns the name of a required argument that the request lacks, or "".
func missingArgument(prompt jsontext.Value, req *rules.Request) string {
	_, given := wire.Members(req.Message.ParamAt("/arguments"))
	for _, argument := range wire.Elements(wire.At(prompt, "/arguments")) {
		name, ok := wire.Text(wire.At(argument, "/name"))
		if ok && given[name] == nil && string(wire.At(argument, "/required")) == "true" {
			return name
		}
	}
	return ""
}

func promptArguments() rules.Fold {
	bare := &optionalTrial{requirement: promptArgumentsOptional, thing: "prompt"}
	handlers := onGetResponses(func(s *rules.Session, name string, _ bool, obs *rules.Observation, out *rules.Reporter) {
		b := catalogs.Of(s)
		prompt, arguments := b.prompts.seen[name], obs.Request.Message.ParamAt("/arguments")
		code, _ := obs.Message.ErrorCode()
		denied := obs.Message.IsError() && (spec.Code(code) == spec.CodeMethodNotFound || isUnknownNameError("prompt", name, obs.Message))
		switch {
		case prompt == nil || !s.ServerDeclared("prompts") || denied || arguments != nil && arguments.Kind() != '{':
		case missingArgument(prompt, obs.Request) != "":
			flaw := "the argument " + rules.Excerpt(wire.Quote(missingArgument(prompt, obs.Request))) + " is missing"
			invalidParamsCheck{
				promptMissingArgument, "The server serves a prompt without a required argument.",
				"The server refuses a missing prompt argument, but not with -32602.", verdict.Full, flaw,
			}.judge(obs, b.validPromptControl(name), out)
		case !areStrings(arguments):
			if out.RequireInterpretable(obs, b.validPromptControl(name), promptValidates) {
				judgeMistypedArgument(arguments, obs, out)
			}
		default:
			if requiresNoArgument(prompt) {
				bare.note(name, arguments, obs)
			}
		}
	})
	return rules.Fold{Shared: readsCatalog, OnMessage: handlers, AtEnd: func(s *rules.Session, out *rules.Reporter) { bare.judge(s, out) }}
}

func requiresNoArgument(prompt jsontext.Value) bool {
	return !slices.ContainsFunc(wire.Elements(wire.At(prompt, "/arguments")), func(a jsontext.Value) bool {
		required := wire.At(a, "/required")
		return required != nil && required.Kind() != 'f'
	})
}

// areStrings reports whether all members of an object are strings.
func areStrings(arguments jsontext.Value) bool {
	_, given := wire.Members(arguments)
	for _, v := range given {
		if v.Kind() != '"' {
			return false
		}
	}
	return true
}

// hasValidArguments reports whether the arguments of a request, if any, are an object
// of strings.
func hasValidArguments(req *rules.Request) bool {
	arguments := req.Message.ParamAt("/arguments")
	return arguments == nil || arguments.Kind() == '{' && areStrings(arguments)
}

// judgeMistypedArgument judges the response to a prompts/get with an argument that is not a string.
// It reports an argument that is null only as a note, because many servers treat null as a missing
// value.
func judgeMistypedArgument(arguments jsontext.Value, obs *rules.Observation, out *rules.Reporter) {
	if obs.Message.IsError() {
		out.MarkObserved(promptValidates)
		return
	}
	d := deviationOf(promptValidates, obs)
	d.Summary, d.Permitted = "The server serves a prompt with an argument that is not a string.", "an error, usually with code -32602"
	_, given := wire.Members(arguments)
	others := false
	for _, v := range given {
		others = others || v.Kind() != '"' && v.Kind() != 'n'
	}
	if !others {
		d.Summary, d.Weight = "The server serves a prompt with an argument that is null.", verdict.OnlyNote
	}
	out.Report(d)
}
