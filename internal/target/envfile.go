package target

import (
	"io"
	"os"
	"strings"
)

// readEnvFile reads the variables of an env file as VS Code does. A relative path is resolved
// against the workspace.
func (x *expander) readEnvFile(path string) ([]setting, error) {
	f, err := os.Open(x.absolute(x.expandTilde(path), x.workspace))
	if err != nil {
		return nil, newUsageError(x.at("envFile"), `"envFile" can't be read: `+quote(path)+" ("+messageWithoutPath(err)+")",
			"a relative path is looked up in "+x.workspace)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return nil, newUsageError(x.at("envFile"), `"envFile" can't be read: `+quote(path)+" ("+messageWithoutPath(err)+")",
			"name a file with a line NAME=value for each variable")
	}
	return parseEnvFile(string(text)), nil
}

// parseEnvFile parses lines of NAME=value (or NAME: value), with an optional export prefix, quotes
// and comments. It ignores other lines, as VS Code and other MCP clients do.
//
// It does not use joho/godotenv, whose results differ from those of the clients: that package
// expands variables, so that PASSWORD=p$5word becomes "pword", leaves backticks in values, and
// rejects the whole file if one line sets nothing or has a name such as A-B.
func parseEnvFile(text string) []setting {
	var settings []setting
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\uFEFF"))
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		edge := outsideQuotes(line, "=:")
		if strings.HasPrefix(line, "#") || edge <= 0 {
			continue
		}
		name, value := strings.TrimSpace(line[:edge]), strings.TrimSpace(line[edge+1:])
		if i := outsideQuotes(value, "#"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		if n := len(value); n >= 2 && value[0] == value[n-1] && strings.IndexByte("\"'`", value[0]) >= 0 {
			mark := value[0]
			value = value[1 : n-1]
			if mark == '"' {
				value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
			}
		}
		if strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			continue
		}
		settings = append(settings, setting{name: name, value: value})
	}
	return settings
}

// outsideQuotes returns the index of the first character of s that is one of chars and outside
// quotes, or -1.
func outsideQuotes(s, chars string) int {
	var open byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case open != 0:
			if c == open && s[i-1] != '\\' {
				open = 0
			}
		case c == '"' || c == '\'' || c == '`':
			open = c
		case strings.IndexByte(chars, c) >= 0:
			return i
		}
	}
	return -1
}
