package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// AddGiven adds the value that the user set for a variable or header. The value counts as a secret
// under any name, unless it is an ordinary setting, see IsOrdinaryValue. If only parts of the value
// look like secrets, as in a URL with a password, AddGiven adds those parts, as AddNamed does.
func (s *Secrets) AddGiven(name, value string) {
	if _, inURL := parseUserinfo(value); !IsSecretSetting(name) && !IsOrdinaryValue(value) && Arg(value) == value && !inURL {
		s.Add(value)
		return
	}
	s.AddNamed(name, value)
}

// AddNamed adds the value of a variable or header if the name indicates a secret, and otherwise
// those parts of the value that look like secrets. If the value is a path or a URL, AddNamed adds
// only such parts, whatever the name is. There is one exception: a URL without such parts is added
// as a whole if the name indicates a secret.
func (s *Secrets) AddNamed(name, value string) {
	value = strings.TrimSpace(value)
	switch {
	case !IsSecretSetting(name), pathShape.MatchString(value): // PWD, SSL_KEY=/etc/key.pem
		s.AddArgs(value)
	case strings.Contains(value, "://"): // a DSN
		s.AddArgs(value)
		if Arg(value) == value {
			s.Add(value)
		}
	default:
		s.addCredentials(value)
		if strings.EqualFold(name, "cookie") {
			for part := range strings.SplitSeq(value, ";") {
				_, text, _ := strings.Cut(part, "=")
				s.Add(text)
			}
		}
	}
}

// addCredentials adds a secret. If it is the value of an Authorization header, it is added without
// the name of the scheme.
func (s *Secrets) addCredentials(value string) {
	scheme, rest, ok := strings.Cut(value, " ")
	switch rest = strings.TrimSpace(rest); {
	case ok && strings.EqualFold(scheme, "basic"):
		s.addBasic(rest)
	case ok && slices.Contains([]string{"bearer", "token", "apikey", "negotiate", "dpop"}, strings.ToLower(scheme)):
		s.Add(rest)
	default:
		s.Add(value)
	}
}

// addBasic adds the credentials of a Basic Authorization header.
func (s *Secrets) addBasic(credentials string) {
	s.Add(credentials)
	if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		s.addUser(string(plain))
	}
}

// addUser adds the user name in info, which is user:password or user alone, unless IsOrdinaryValue
// returns true for it. If there is a password, addUser also adds the password and the whole info.
func (s *Secrets) addUser(info string) {
	user, password, ok := strings.Cut(info, ":")
	if ok {
		s.Add(password)
		if len(password) > 0 {
			s.Add(info)
		}
	}
	if !IsOrdinaryValue(user) {
		s.Add(user)
	}
}

// AddArgs adds the secrets in command line arguments, including a value that is a
// separate argument after its flag.
func (s *Secrets) AddArgs(args ...string) {
	shown := (*Secrets)(nil).RedactArgs(args)
	for i, arg := range args {
		if shown[i] != arg {
			s.addDifference(arg, shown[i])
		}
		s.addUserinfo(arg)
	}
}

// addUserinfo adds the credentials in front of the host, if arg is a URL that has some.
func (s *Secrets) addUserinfo(arg string) {
	if user, ok := parseUserinfo(arg); ok {
		s.addUser(user.String())
		password, _ := user.Password()
		s.addUser(strings.TrimSuffix(user.Username()+":"+password, ":"))
	}
}

func parseUserinfo(arg string) (*url.Userinfo, bool) {
	u, err := url.Parse(arg)
	if err != nil || u.User == nil || u.Host == "" {
		return nil, false
	}
	return u.User, true
}

// addDifference adds the parts of arg for which shown has Mark. shown is arg as it is displayed.
func (s *Secrets) addDifference(arg, shown string) {
	parts := strings.Split(shown, Mark)
	arg = strings.TrimPrefix(arg, parts[0])
	for _, part := range parts[1:] {
		end := len(arg)
		if part != "" {
			if i := strings.Index(arg, part); i >= 0 {
				end = i
			}
		}
		secret := strings.TrimSpace(arg[:end])
		s.addCredentials(secret)
		if plain, err := url.QueryUnescape(secret); err == nil {
			s.Add(plain)
		}
		arg = arg[min(len(arg), end+len(part)):]
	}
}

// RedactArgs returns the arguments with known and likely secrets replaced by Mark.
func (s *Secrets) RedactArgs(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		if i > 0 && IsSecretFlag(args[i-1]) && !strings.HasPrefix(arg, "-") && arg != "" {
			out[i] = Mark
			continue
		}
		out[i] = s.RedactArg(arg)
	}
	return out
}

// RedactArg returns one argument with known and likely secrets replaced by Mark.
func (s *Secrets) RedactArg(arg string) string { return Arg(s.RedactText(arg)) }

// settings are common configuration values that are never secrets.
var settings = strings.Fields(`
	true false null none auto default enabled disabled enable disable always never
	debug info notice warn warning error fatal critical trace verbose quiet silent
	development production staging testing test local localhost debugging
	stdio http https sse streamable streamable-http server client memory file sqlite postgres postgresql mysql redis mongodb
	json text yaml plain html markdown console pretty color english utf-8 utf8 ascii latin1
	readonly read-only readwrite read-write strict lenient basic bearer oauth public private
	keep-alive close no-cache no-store gzip deflate identity chunked
	mcp-conform`)

var (
	numberShape = lazyregexp.New(`^[+-]?[0-9]{0,7}(?:[.,][0-9]{1,3})?(?:[a-zA-Z%]{1,3})?$`)
	dateShape   = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	hostShape   = lazyregexp.New(`^(?:(?:localhost|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[a-z0-9.-]{1,60}\.(?:com|org|net|io|dev|app|ai|local|internal|example|test|invalid))(?::[0-9]{1,5})?|` +
		`\[?[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:\]:[0-9]{1,5})?)$`)
	localeShape = lazyregexp.New(`^(?:C|POSIX|[a-z]{2}(?:[_-][A-Z]{2})?)(?:\.[A-Za-z0-9-]{4,12})?$`)
	mediaShape  = lazyregexp.New(`^(?:(?:application|text|image|audio|multipart|\*)/[a-z0-9.+*-]{1,40}(?:; ?[a-z]=[a-z0-9.-]+)?(?:, ?)?)+$`)
	// pathShape matches file paths, and lists of them. It rejects a long value
	// with a single separator, which may be base64.
	pathShape = lazyregexp.New(`^(?:~|\.{1,2})?[/\\](?:[\w.,@ -]{0,15}|[\w.,@ -]*[/\\:][\w.,~@ /\\:-]*)$|^[A-Za-z]:[/\\][\w.,~@ /\\:;()-]*$`)
	markShape = lazyregexp.New(`^\$?\{[\w:./-]+\}$`)
	plainWeb  = lazyregexp.New(`^[a-z][a-z0-9+.-]*://[^@]*$`)
)

// IsOrdinaryValue reports whether a value is a setting that reveals nothing, such as a
// number, a path, a host's address, or "production".
func IsOrdinaryValue(value string) bool {
	value = strings.TrimSpace(value)
	return slices.Contains(settings, strings.ToLower(value)) ||
		slices.ContainsFunc([]*lazyregexp.Regexp{numberShape, dateShape, hostShape, localeShape, mediaShape, pathShape, markShape, plainWeb},
			func(shape *lazyregexp.Regexp) bool { return shape.MatchString(value) })
}
