package target

import (
	"maps"
	"net/http"
	"strings"
)

// completeURLTarget completes t, a target that has a URL. It sets the headers, the transport and
// the command that starts the URL's server, as the flags for URLs say. The argument where is the
// position of the URL, for errors.
func (r *resolver) completeURLTarget(where string, t Target) (Target, error) {
	headers, err := r.parseHeaderFlags()
	if err != nil {
		return Target{}, err
	}
	if t.Start, err = r.parseStart(where, t.URL); err != nil {
		return Target{}, err
	}
	if t.Start != nil {
		t.flags = append(t.flags, t.Start.shownFlags(r)...)
	}
	for _, h := range headers {
		maps.DeleteFunc(t.Headers, func(name, _ string) bool { return strings.EqualFold(name, h.name) })
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		t.Headers[h.name] = h.value
	}
	switch r.Transport {
	case "":
	case "auto":
		t.Transport = ""
	default:
		over, known := httpTypes[r.Transport]
		if !known {
			return Target{}, newUsageError("", "--transport is "+quote(r.Transport)+", which is not a transport of a URL", "give auto, http or sse")
		}
		t.Transport = over
	}
	t.flags = append(t.flags, r.urlFlags()...)
	t.secrets = r.secrets
	return t, nil
}

// parseHeaderFlags returns the headers of --header and --bearer-env.
func (r *resolver) parseHeaderFlags() ([]setting, error) {
	var out []setting
	for _, text := range r.Headers {
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsFunc(name, isForbiddenInHeaderName) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, newUsageError("", "--header is "+quote(r.secrets.RedactArg(text))+", which is not a header", "write it as --header 'Name: value'")
		}
		out = append(out, setting{name: http.CanonicalHeaderKey(name), value: value})
	}
	if r.BearerEnv == "" {
		return out, nil
	}
	bearer := Credential{"--bearer-env", r.BearerEnv, true}
	token, err := bearer.Read(r.outer.get, r.secrets)
	if err != nil {
		return nil, err
	}
	return append(out, setting{name: "Authorization", value: "Bearer " + token}), nil
}

// isForbiddenInHeaderName reports whether a character can't occur in the name of a header.
func isForbiddenInHeaderName(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// urlFlags returns the flags --transport, --header and --bearer-env as they were given, without
// secrets.
func (r *resolver) urlFlags() []string {
	var flags []string
	if r.Transport != "" {
		flags = append(flags, "--transport", r.Transport)
	}
	for _, h := range r.Headers {
		flags = append(flags, "--header", r.secrets.RedactArg(h))
	}
	if r.BearerEnv != "" {
		flags = append(flags, "--bearer-env", r.BearerEnv)
	}
	return flags
}

// rejectURLFlags returns an error if a flag for URLs is given. It is called for a target that is a
// command.
func (r *resolver) rejectURLFlags() error {
	for _, f := range []struct {
		name  string
		given bool
	}{{"--header", len(r.Headers) > 0}, {"--bearer-env", r.BearerEnv != ""}, {"--transport", r.Transport != ""}, {"--ready", r.Ready != nil}} {
		if r.Start != nil {
			return newUsageError("", "--start is for a server that is reached by its URL, but this one speaks over stdin and stdout",
				"leave --start out, because such a server is always started, or give the URL in place of the command:", startExample)
		}
		if f.given {
			return newUsageError("", f.name+" is for a server that is reached by its URL, but this one is started as a command", "leave "+f.name+" out, or give the URL")
		}
	}
	return nil
}
