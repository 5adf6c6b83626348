package verdict

import (
	"fmt"
	"strings"
)

// A Setting is an entry of the configuration file that would make a requirement observable: a
// permission to call a tool, or a fixture. As a string it is "tools: {call: [safe, NAME]}" or, for
// example, "fixtures: {slow: {tool: NAME}}".
type Setting struct {
	Tool    string // the tool to allow calls of, or ""
	Fixture string // the line below "fixtures:", or ""
}

// Names of the parts of the configuration file.
const (
	settingTools    = "tools"
	settingFixtures = "fixtures"
)

// Line returns the line to add to the configuration file, and the key below which it belongs.
func (s Setting) Line() (line, under string) {
	if s.Tool != "" {
		return "call: [safe, " + s.Tool + "]", settingTools
	}
	return s.Fixture, settingFixtures
}

// IsZero reports whether the setting is empty.
func (s Setting) IsZero() bool { return s == Setting{} }

// String returns the setting as one line of YAML, or "" if it is empty.
func (s Setting) String() string {
	if s.IsZero() {
		return ""
	}
	line, under := s.Line()
	return under + ": {" + line + "}"
}

// MarshalText implements encoding.TextMarshaler.
func (s Setting) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Setting) UnmarshalText(text []byte) error {
	for _, form := range []struct {
		prefix, suffix string
		part           *string
	}{
		{settingTools + ": {call: [safe, ", "]}", &s.Tool},
		{settingFixtures + ": {", "}", &s.Fixture},
	} {
		rest, begins := strings.CutPrefix(string(text), form.prefix)
		if rest, ends := strings.CutSuffix(rest, form.suffix); begins && ends {
			*form.part = rest
			return nil
		}
	}
	return fmt.Errorf("%q is neither a tool to call nor a fixture", text)
}

// redact removes secrets from the setting.
func (s *Setting) redact(text func(string) string) {
	s.Tool, s.Fixture = text(s.Tool), text(s.Fixture)
}
