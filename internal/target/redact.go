package target

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

var (
	// tokenShape finds secrets by the prefixes that their issuers give them.
	// The length and the digit (see looksIssued) keep package names out.
	tokenShape = regexp.MustCompile(`\b(?:sk-|[spr]k_(?:live|test)_|gh[pousr]_|github_pat_|glpat-|sbp_|xox[a-z]-|xapp-|npm_|pypi-|hf_|` +
		`dckr_pat_|shpat_|lin_api_|ntn_|secret_|figd_|fc-|tvly-|pplx-|gsk_|ctx7sk-|SG\.|ya29\.|AKIA|ASIA|AIza|dop_v1_|vercel_|sntrys_)[A-Za-z0-9_.\-]{12,}`)
	jwtShape    = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`)
	bearerShape = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~\-]{6,}`)
	userinfo    = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.\-]*://[^/\s:@]*:)[^/\s@]+@`)

	wordEdge = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// secretWords are the last words of names whose values are secrets.
var secretWords = []string{
	"token", "secret", "password", "passwd", "passphrase", "pwd", "pass", "key", "keys", "apikey", "tokens", "secrets", "pat", "dsn",
	"credential", "credentials", "authorization", "auth", "bearer", "cookie", "jwt", "signature",
}

// secretName says whether a variable, flag, header or query parameter of this
// name usually holds a secret: --max-token-count does not, --access-token does.
func secretName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(wordEdge.ReplaceAllString(name, "${1}_$2")), func(c rune) bool {
		return c == '-' || c == '_' || c == '.' || c == ' '
	})
	return len(words) > 0 && slices.Contains(secretWords, words[len(words)-1])
}

// redact returns the arguments without the secrets that are known, and with everything that looks like a secret
// replaced; a secret may stand in an argument of its own behind its flag.
func (s *secretSet) redact(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		if i > 0 && secretFlag(args[i-1]) && !strings.HasPrefix(arg, "-") && arg != "" {
			out[i] = redacted
			continue
		}
		out[i] = s.redactOne(arg)
	}
	return out
}

// secretFlag says whether the next argument is the secret that arg announces.
func secretFlag(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && !strings.HasPrefix(arg, "--no-") && secretName(arg)
}

// redactOne does the same for one argument.
func (s *secretSet) redactOne(arg string) string {
	for _, secret := range s.list() {
		arg = strings.ReplaceAll(arg, secret, redacted)
	}
	return redactShape(arg)
}

// redactShape replaces what looks like a secret.
func redactShape(arg string) string {
	// A value behind a telling name is one secret to its end, whatever is in it.
	if name, value, ok := strings.Cut(arg, "="); ok && value != "" && !strings.ContainsAny(name, "/?&:; ") && secretName(name) {
		return name + "=" + redacted
	}
	if name, value, ok := strings.Cut(arg, ":"); ok && !blank(value) && !strings.HasPrefix(value, "/") && !strings.ContainsAny(name, "/?&=; ") && secretName(name) {
		return arg[:len(arg)-len(strings.TrimLeft(value, " "))] + redacted
	}
	arg = userinfo.ReplaceAllString(arg, "${1}"+redacted+"@")
	arg = redactPairs(arg)
	arg = bearerShape.ReplaceAllString(arg, "$1 "+redacted)
	arg = jwtShape.ReplaceAllString(arg, redacted)
	return tokenShape.ReplaceAllStringFunc(arg, func(m string) string {
		if looksIssued(m) {
			return redacted
		}
		return m
	})
}

// redactPairs replaces the values behind telling names inside an argument: in
// query strings, connection strings, headers and JSON.
func redactPairs(arg string) string {
	var out strings.Builder
	for i := 0; i < len(arg); i++ {
		out.WriteByte(arg[i])
		if arg[i] != '=' && arg[i] != ':' {
			continue
		}
		name := strings.TrimRight(arg[:i], `"'\`)
		name = name[strings.LastIndexFunc(name, func(c rune) bool { return !nameRune(c) })+1:]
		rest := arg[i+1:]
		value := strings.TrimLeft(rest, ` "'\`)
		if !secretName(name) || value == "" || arg[i] == ':' && len(value) == len(rest) {
			continue
		}
		end := strings.IndexAny(value, "&;#\"' \t\n")
		if end < 0 {
			end = len(value)
		}
		out.WriteString(rest[:len(rest)-len(value)] + redacted)
		i = len(arg) - len(value) + end - 1
	}
	return out.String()
}

func nameRune(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}

// looksIssued tells a token from words with hyphens between them.
func looksIssued(s string) bool { return strings.ContainsAny(s, "0123456789") }

// secretSet collects the values that must not be seen in a record.
type secretSet map[string]bool

// leastSecret is the length below which a value is not taken for a secret:
// to replace "1" or "dev" everywhere would make a record unreadable.
const leastSecret = 6

func (s *secretSet) add(value string) {
	if len(strings.TrimSpace(value)) < leastSecret {
		return
	}
	if *s == nil {
		*s = secretSet{}
	}
	(*s)[value] = true
}

// addNamed adds the value of a variable or header when its name or its shape
// tells that it is a secret.
func (s *secretSet) addNamed(name, value string) {
	scheme, rest, ok := strings.Cut(value, " ")
	switch {
	case secretName(name):
		s.add(value)
		if ok && (strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "basic")) {
			s.add(rest)
		}
	case redactShape(value) != value:
		s.addArgs([]string{value})
	}
}

// addArgs adds the secrets within arguments.
func (s *secretSet) addArgs(args []string) {
	shown := new(secretSet).redact(args)
	for i, arg := range args {
		if shown[i] != arg {
			s.addDifference(arg, shown[i])
		}
	}
}

// addDifference adds what arg has where shown has the mark.
func (s *secretSet) addDifference(arg, shown string) {
	parts := strings.Split(shown, redacted)
	arg = strings.TrimPrefix(arg, parts[0])
	for _, part := range parts[1:] {
		end := len(arg)
		if part != "" {
			if i := strings.Index(arg, part); i >= 0 {
				end = i
			}
		}
		secret := strings.TrimSpace(arg[:end])
		s.add(secret)
		if plain, err := url.QueryUnescape(secret); err == nil {
			s.add(plain)
		}
		arg = arg[min(len(arg), end+len(part)):]
	}
}

// list returns the values, longest first, so that one within another does
// not spoil the longer one.
func (s *secretSet) list() []string {
	var list []string
	for value := range *s {
		list = append(list, value)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return list
}
