package sweep

import (
	"strings"
)

// An OptOut lists servers that must not be judged, one a line: the name of a server, a
// host, *.HOST for all hosts below it, or the beginning of a URL. # begins a comment.
type OptOut struct{ rules []string }

// ReadOptOut reads a file. Its errors are usage errors.
func ReadOptOut(path string) (*OptOut, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	o := &OptOut{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			o.rules = append(o.rules, line)
		}
	}
	return o, nil
}

// matches returns the line that an entry matches, or "".
func (o *OptOut) matches(e *Entry) string {
	if o == nil {
		return ""
	}
	host := e.host()
	for _, rule := range o.rules {
		below, wild := strings.CutPrefix(rule, "*")
		switch {
		case rule == e.Name,
			e.URL != "" && strings.EqualFold(rule, host),
			e.URL != "" && wild && strings.HasPrefix(below, ".") && strings.HasSuffix(host, strings.ToLower(below)),
			strings.Contains(rule, "://") && beginsURL(e.URL, rule):
			return rule
		}
	}
	return ""
}

// beginsURL reports whether a URL begins with whole segments of another.
func beginsURL(url, prefix string) bool {
	rest, ok := strings.CutPrefix(url, strings.TrimSuffix(prefix, "/"))
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "/?#"))
}
