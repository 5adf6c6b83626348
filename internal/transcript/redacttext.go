package transcript

import (
	"regexp"
	"slices"
	"strings"
)

var (
	wordEdge = regexp.MustCompile(`([a-z0-9])([A-Z])`)

	// headerShape finds the value of a header that carries a secret, up to
	// the end of the line.
	headerShape = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token)(["']?\s*:\s*)([^\s"',][^\r\n"']*)`)
	bearerShape = regexp.MustCompile(`(?i)\b(bearer\s+)([A-Za-z0-9+/=._~\-]{8,})`)
	// A token that its own form gives away.
	tokenShape = regexp.MustCompile(`\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+|(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|npm_|pypi-|AKIA|AIza)[A-Za-z0-9_.\-]{12,})`)
	userShape  = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.\-]*://[^/\s:@"']*:)([^/\s@"']+)(@)`)
	// name=value, and "name": "value" as in JSON and Python.
	equalShape  = regexp.MustCompile(`([A-Za-z0-9_.\-]+)(=)("[^"\r\n]+"|'[^'\r\n]+'|[^\s"'&;,]+)`)
	doubleShape = regexp.MustCompile(`([A-Za-z0-9_.\-]+)(["']\s*:\s*")((?:[^"\\\r\n]|\\.)+)`)
	singleShape = regexp.MustCompile(`([A-Za-z0-9_.\-]+)(["']\s*:\s*')((?:[^'\\\r\n]|\\.)+)`)
	// "name": "value" whose quotes are escaped, in a line that is no JSON.
	escapedShape = regexp.MustCompile(`([A-Za-z0-9_.\-]+)(\\+"\s*:\s*\\+")([^"\\\r\n]+)`)
)

// lastWords and lastPairs are how the names of secrets end.
var (
	lastWords = []string{
		"token", "tokens", "secret", "secrets", "password", "passwords", "passwd", "passphrase", "pwd", "credential", "credentials",
		"authorization", "cookie", "cookies", "jwt", "bearer", "apikey", "apikeys",
	}
	lastPairs = []string{"api key", "api keys", "access key", "private key", "secret key", "signing key", "encryption key"}
)

// secretName tells whether what goes by this name is usually a secret. A
// progress token is none: it ties messages together.
func secretName(name string) bool {
	if name == "progressToken" {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(wordEdge.ReplaceAllString(name, "${1}_$2")), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	if len(words) == 0 {
		return false
	}
	return slices.Contains(lastWords, words[len(words)-1]) || len(words) > 1 && slices.Contains(lastPairs, strings.Join(words[len(words)-2:], " "))
}

// text returns free text without secrets.
func (r *Redactor) text(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	b = r.replaceKnown(b)
	b = headerShape.ReplaceAll(b, []byte("${1}${2}"+Redacted))
	b = replaceValue(bearerShape, b, func(_, value string) bool { return strings.ContainsAny(value, "0123456789") })
	b = tokenShape.ReplaceAll(b, []byte(Redacted))
	b = userShape.ReplaceAll(b, []byte("${1}"+Redacted+"${3}"))
	for _, shape := range []*regexp.Regexp{equalShape, doubleShape, singleShape, escapedShape} {
		b = replaceValue(shape, b, func(name, _ string) bool { return secretName(name) })
	}
	return b
}

// replaceValue replaces the third part of what shape finds, the second for
// shapes of two, where secret says so.
func replaceValue(shape *regexp.Regexp, b []byte, secret func(name, value string) bool) []byte {
	return shape.ReplaceAllFunc(b, func(found []byte) []byte {
		parts := shape.FindSubmatch(found)
		value := parts[len(parts)-1]
		if !secret(string(parts[1]), string(value)) {
			return found
		}
		return append(append([]byte(nil), found[:len(found)-len(value)]...), Redacted...)
	})
}
