package redact

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

var (
	// tokenShape finds secrets by the prefixes that their issuers use. The
	// minimum length and the digit (see hasDigit) exclude package names.
	tokenShape = newShape("sk-,k_live_,k_test_,gho_,ghp_,ghr_,ghs_,ghu_,github_pat_,glpat-,sbp_,xox,xapp-,npm_,pypi-,hf_,"+
		"dckr_pat_,shpat_,lin_api_,ntn_,secret_,figd_,fc-,tvly-,pplx-,gsk_,ctx7sk-,sg.,ya29.,akia,asia,aiza,dop_v1_,vercel_,sntrys_",
		`\b(?:sk-|[spr]k_(?:live|test)_|gh[pousr]_|github_pat_|glpat-|sbp_|xox[a-z]-|xapp-|npm_|pypi-|hf_|`+
			`dckr_pat_|shpat_|lin_api_|ntn_|secret_|figd_|fc-|tvly-|pplx-|gsk_|ctx7sk-|SG\.|ya29\.|AKIA|ASIA|AIza|dop_v1_|vercel_|sntrys_)[A-Za-z0-9_.\-]{12,}`)
	jwtShape    = newShape("eyj", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`)
	schemeShape = newShape("bearer,ba", `(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~\-]{6,}`)
	userShape   = newShape("://", `([A-Za-z][A-Za-z0-9+.\-]*://[^/\s:@"']*:)[^/\s@"']+@`)

	// headerShape finds the value of a header that carries a secret, up to the
	// end of the line.
	headerShape = newShape("authorization,cookie,x-api-key,x-auth-token",
		`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token)(["']?\s*:\s*)([^\s"',][^\r\n"']*)`)
	bearerShape = newShape("bearer", `(?i)\b(bearer\s+)([A-Za-z0-9+/=._~\-]{8,})`)
	// pairShapes find name=value, "name": "value" as in JSON and Python, and the
	// latter with escaped quotes in a line that is not JSON.
	pairShapes = []shape{
		newShape("=", `([A-Za-z0-9_.\-]+)(=)("[^"\r\n]+"|'[^'\r\n]+'|[^\s"'&;,]+)`),
		newShape(`"`, `([A-Za-z0-9_.\-]+)(["']\s*:\s*")((?:[^"\\\r\n]|\\.)+)`),
		newShape("'", `([A-Za-z0-9_.\-]+)(["']\s*:\s*')((?:[^'\\\r\n]|\\.)+)`),
		newShape(`\"`, `([A-Za-z0-9_.\-]+)(\\+"\s*:\s*\\+")([^"\\\r\n]+)`),
	}
)

// A shape is a form by which a secret can be recognized.
type shape struct {
	*lazyregexp.Regexp
	// parts are lower-case strings; every match contains at least one of them.
	// Searching for them first costs about a hundredth of matching.
	parts [][]byte
}

// newShape returns a shape; parts are separated by commas.
func newShape(parts, expression string) shape {
	return shape{lazyregexp.New(expression), bytes.Split([]byte(parts), []byte(","))}
}

// mayMatch reports whether the text, given in lower case, may match the shape.
func (s shape) mayMatch(lower []byte) bool {
	return slices.ContainsFunc(s.parts, func(part []byte) bool { return bytes.Contains(lower, part) })
}

// Shapes returns b, which is free text, with Mark in place of everything that looks like a secret,
// by its form or by the name in front of it.
func Shapes(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	lower := bytes.ToLower(b) // need not be updated: replacing a secret with Mark adds no part that a later shape needs
	replace := func(s shape, by func(b []byte) []byte) {
		if s.mayMatch(lower) {
			b = by(b)
		}
	}
	replace(headerShape, func(b []byte) []byte { return headerShape.ReplaceAll(b, []byte("${1}${2}"+Mark)) })
	replace(bearerShape, func(b []byte) []byte {
		return replaceValue(bearerShape, b, func(_, value string) bool { return hasDigit(value) })
	})
	replace(jwtShape, func(b []byte) []byte { return jwtShape.ReplaceAll(b, []byte(Mark)) })
	replace(tokenShape, func(b []byte) []byte {
		return tokenShape.ReplaceAllFunc(b, func(found []byte) []byte { return []byte(issuedMark(string(found))) })
	})
	replace(userShape, func(b []byte) []byte { return userShape.ReplaceAll(b, []byte("${1}"+Mark+"@")) })
	for _, s := range pairShapes {
		replace(s, func(b []byte) []byte {
			return replaceValue(s, b, func(name, _ string) bool { return IsSecretMember(name) })
		})
	}
	return b
}

// replaceValue calls secret with the first and the last group of each match. If secret returns
// true, replaceValue replaces the last group with Mark.
func replaceValue(shape shape, b []byte, secret func(name, value string) bool) []byte {
	return shape.ReplaceAllFunc(b, func(found []byte) []byte {
		parts := shape.FindSubmatch(found)
		value := parts[len(parts)-1]
		if !secret(string(parts[1]), string(value)) {
			return found
		}
		return append(append([]byte(nil), found[:len(found)-len(value)]...), Mark...)
	})
}

// issuedMark returns Mark if found is an issued token. It returns any other string, such as
// hyphenated words, unchanged.
func issuedMark(found string) string {
	if hasDigit(found) {
		return Mark
	}
	return found
}

// hasDigit reports whether s contains a digit, as issued tokens do.
func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// Arg returns a command line argument in which everything that looks like a secret is replaced by
// Mark.
func Arg(arg string) string {
	// After the name of a secret, the whole value counts as one secret, even if it has spaces.
	if name, value, ok := strings.Cut(arg, "="); ok && value != "" && !strings.ContainsAny(name, "/?&:; ") && IsSecretSetting(name) {
		return name + "=" + Mark
	}
	if name, value, ok := strings.Cut(arg, ":"); ok && strings.TrimSpace(value) != "" && !strings.HasPrefix(value, "/") && !strings.ContainsAny(name, "/?&=; ") && IsSecretSetting(name) {
		return arg[:len(arg)-len(strings.TrimLeft(value, " "))] + Mark
	}
	arg = userShape.ReplaceAllString(arg, "${1}"+Mark+"@")
	arg = schemeShape.ReplaceAllString(redactPairs(arg), "$1 "+Mark)
	arg = jwtShape.ReplaceAllString(arg, Mark)
	return tokenShape.ReplaceAllStringFunc(arg, issuedMark)
}

// redactPairs replaces the values after names of secrets inside an argument: in query strings,
// connection strings, headers and JSON. A value after a colon extends to a quote or the end of its
// line, because headers contain spaces and semicolons. A value after an equals sign may begin with
// a scheme, such as Bearer.
func redactPairs(arg string) string {
	var out strings.Builder
	for i := 0; i < len(arg); i++ {
		out.WriteByte(arg[i])
		if arg[i] != '=' && arg[i] != ':' {
			continue
		}
		name := strings.TrimRight(arg[:i], `"'\`)
		name = name[strings.LastIndexFunc(name, func(c rune) bool { return !isNameRune(c) })+1:]
		rest := arg[i+1:]
		value := strings.TrimLeft(rest, ` "'\`)
		if !IsSecretSetting(name) || value == "" || arg[i] == ':' && len(value) == len(rest) {
			continue
		}
		begin, ends := 0, "&;#\"' \t\n"
		if arg[i] == ':' {
			ends = "\"'\n"
		} else if credentials := schemeShape.FindString(value); strings.HasPrefix(value, credentials) {
			begin = len(credentials)
		}
		end := strings.IndexAny(value[begin:], ends)
		if end < 0 {
			end = len(value) - begin
		}
		out.WriteString(rest[:len(rest)-len(value)] + Mark)
		i = len(arg) - len(value) + begin + end - 1
	}
	return out.String()
}

func isNameRune(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}
