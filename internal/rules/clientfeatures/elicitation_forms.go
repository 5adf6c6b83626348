package clientfeatures

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	noSensitive   = "elicitation.form.no-sensitive-information-2025-06-18"
	noCredentials = "elicitation.form.no-credentials-2025-11-25" //nolint:gosec // the name of a requirement
	noLinks       = "elicitation.form.no-clickable-urls"
)

func formRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.elicitation-secrets",
			Title:        "no form has a field for a password, a key or a card number",
			Requirements: []string{noSensitive, noCredentials},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(spec.MethodElicit): judgeSecretFields}}),
		},
		{
			ID:           "rule.elicitation-links",
			Title:        "no form has a link to click",
			Requirements: []string{noLinks},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(spec.MethodElicit): judgeLinks}}),
		},
	}
}

// secretNames are field names that almost always mean a credential, in lower case and without
// separators. Data that gives no access, such as a name or an address, may be requested.
var secretNames = []string{
	"password", "passwd", "passphrase", "apikey", "apisecret", "accesstoken", "refreshtoken", "authtoken", "bearertoken",
	"secretkey", "secretaccesskey", "clientsecret", "privatekey", "creditcard", "creditcardnumber", "cardnumber", "cvv", "cvc",
}

// judgeSecretFields reports forms that seem to ask for credentials. It judges only the names of
// text fields. A name is not proof, so a match is at most a warning.
func judgeSecretFields(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	fields, ok := formFields(obs)
	if !ok {
		return
	}
	for _, id := range []string{noSensitive, noCredentials} {
		found := false
		for _, f := range fields {
			kind, _ := wire.Text(wire.At(f.schema, "/type"))
			if kind != "string" || !slices.Contains(secretNames, normalizeName(f.name)) || wire.At(f.schema, "/enum") != nil {
				continue
			}
			found = true
			out.Report(verdict.Deviation{
				Requirement: id,
				Summary:     "The server's form has a field whose name asks for a secret.",
				Permitted:   "fields that hold no passwords, keys, tokens or payment data",
				Seen:        "the field " + rules.Excerpt(wire.Quote(f.name)),
				At:          rules.PositionsOf(obs.Event),
				Pointer:     string(jsontext.Pointer(obs.PointerToParam("requestedSchema/properties")).AppendToken(f.name)),
				Weight:      verdict.AtMostWarning,
			})
		}
		if !found {
			out.MarkObserved(id)
		}
	}
}

// normalizeName returns a name in lower case and without separators.
func normalizeName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, name))
}

// field is a property of a form's schema.
type field struct {
	name   string
	schema jsontext.Value
}

// formFields returns the fields of a form elicitation, and false for any other elicitation.
func formFields(obs *rules.Observation) ([]field, bool) {
	if elicitationMode(obs.Message.Params()) != "form" {
		return nil, false
	}
	names, schemas := wire.Members(obs.Message.ParamAt("/requestedSchema/properties"))
	fields := make([]field, 0, len(names))
	for _, name := range names {
		fields = append(fields, field{name, schemas[name]})
	}
	return fields, true
}

var webAddress = lazyregexp.New(`(?i)\bhttps?://[^\s"'<>)\]]+`)

// inviting matches text that asks its reader to open the link after it.
var inviting = lazyregexp.New(`(?i)\b(visit|click|open|follow|go to|navigate to|browse to|log in at|sign in at)\b[^.!?]{0,60}$`)

// judgeLinks reports web addresses in the message of a form and in the strings that its fields
// show. An address counts as a clickable link if the message sends the user to it. Any other
// address may describe the form or be an example of an input, and is only noted. Fields whose
// format is uri are skipped.
func judgeLinks(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	fields, ok := formFields(obs)
	if !ok {
		return
	}
	message, _ := wire.Text(obs.Message.ParamAt("/message"))
	d := verdict.Deviation{Requirement: noLinks, Permitted: "text without links; url mode to open a page", At: rules.PositionsOf(obs.Event)}
	if link := firstLink(message); link != "" {
		d.Summary, d.Seen = "The server's form message tells the user to open a web address.", "in the message: "+rules.Excerpt(message)
		d.Pointer = obs.PointerToParam("message")
		if before, _, _ := strings.Cut(message, link); !inviting.MatchString(before) {
			d.Summary, d.Weight = "The server's form message contains a web address.", verdict.OnlyNote
		}
		out.Report(d)
		return
	}
	for _, f := range fields {
		if format, _ := wire.Text(wire.At(f.schema, "/format")); format == "uri" {
			continue
		}
		for _, text := range shownTexts(f.schema) {
			if link := firstLink(text); link != "" {
				d.Summary, d.Seen = "The server's form has a field with a web address in its text.", "in the field "+rules.Excerpt(wire.Quote(f.name))+": "+rules.Excerpt(link)
				d.Weight = verdict.OnlyNote
				out.Report(d)
				return
			}
		}
	}
	out.MarkObserved(noLinks)
}

// shownTexts returns the strings of a field that a client shows to the user.
func shownTexts(schema jsontext.Value) []string {
	values := []jsontext.Value{wire.At(schema, "/title"), wire.At(schema, "/description")}
	for _, list := range []string{"/oneOf", "/items/anyOf"} {
		for _, option := range wire.Elements(wire.At(schema, list)) {
			values = append(values, wire.At(option, "/title"))
		}
	}
	var out []string
	for _, v := range append(values, wire.Elements(wire.At(schema, "/enumNames"))...) {
		if text, ok := wire.Text(v); ok {
			out = append(out, text)
		}
	}
	return out
}

// firstLink returns the first web address in text, or "". It skips addresses of hosts for
// development and of hosts that are reserved for examples.
func firstLink(text string) string {
	for _, link := range webAddress.FindAllString(text, 20) {
		u, err := url.Parse(link)
		if err != nil || !strings.Contains(u.Hostname(), ".") || isDevelopmentHost(u.Hostname()) {
			continue
		}
		host := "." + strings.ToLower(u.Hostname())
		if strings.HasSuffix(host, ".example.com") || strings.HasSuffix(host, ".example.org") || strings.HasSuffix(host, ".example.net") || strings.Contains(host, "..") {
			continue
		}
		return link
	}
	return ""
}
