package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// registryServer holds the members of the registry's server.json that say how to start or reach
// the server. Older files write the keys with underscores.
type registryServer struct {
	Name     string            `yaml:"name"`
	Version  string            `yaml:"version"`
	Packages []registryPackage `yaml:"packages"`
	Remotes  []struct {
		Type    string     `yaml:"type"`
		OldType string     `yaml:"transport_type"`
		URL     string     `yaml:"url"`
		Headers []variable `yaml:"headers"`
	} `yaml:"remotes"`
}

// registryPackage is a package that holds the server.
type registryPackage struct {
	Type       string `yaml:"registryType"`
	OldType    string `yaml:"registry_type"`
	Identifier string `yaml:"identifier"`
	Version    string `yaml:"version"`
	Transport  struct {
		Type string `yaml:"type"`
	} `yaml:"transport"`
	RuntimeArguments []variable `yaml:"runtimeArguments"`
	PackageArguments []variable `yaml:"packageArguments"`
	Environment      []variable `yaml:"environmentVariables"`
}

// variable is an argument, a header or an environment variable.
type variable struct {
	Type       string `yaml:"type"` // of an argument: positional or named
	Name       string `yaml:"name"`
	ValueHint  string `yaml:"valueHint"`
	Value      string `yaml:"value"`
	Default    string `yaml:"default"`
	IsRequired bool   `yaml:"isRequired"`
}

// fixedValue returns the value of the variable. It returns false if there is none, or if the value
// has placeholders that the user has to replace.
func (v *variable) fixedValue() (string, bool) {
	value := v.Value
	if value == "" {
		value = v.Default
	}
	return value, value != "" && !strings.Contains(value, "{")
}

// readRegistered reads a server.json, or complains and returns nil. An entry that can't be run is not
// an error, because the user did not write it and can't fix it.
func (l *listReader) readRegistered(n *yaml.Node) *Entry {
	var s registryServer
	if err := n.Decode(&s); err != nil {
		l.complain(n, "", "this is not a server.json of a registry: "+plainDecodeError(err), "")
		return nil
	}
	if s.Name == "" {
		l.complain(n, "", "a server has no name", "")
		return nil
	}
	e := &Entry{Name: printableName(s.Name), isForeign: true, Version: s.Version, text: canonicalJSON(n), place: l.place(n)}
	var reasons []string
	for i := range s.Packages {
		p := &s.Packages[i]
		p.Type = firstNonEmpty(p.Type, p.OldType)
		argv, env, reason := p.startCommand()
		if reason == "" {
			e.Args, e.Env = append([]string{"--"}, argv...), env
			e.Package, e.Version = p.Type+":"+p.Identifier, firstNonEmpty(p.Version, s.Version)
			return e
		}
		reasons = append(reasons, p.Type+" package: "+reason)
	}
	for i := range s.Remotes {
		r := &s.Remotes[i]
		kind := firstNonEmpty(r.Type, r.OldType)
		transport, known := map[string]string{"streamable-http": "http", "streamable": "http", "sse": "sse"}[kind]
		var missing []string
		for j := range r.Headers {
			if _, ok := r.Headers[j].fixedValue(); !ok && r.Headers[j].IsRequired {
				missing = append(missing, r.Headers[j].Name)
			}
		}
		switch {
		case !known:
			reasons = append(reasons, fmt.Sprintf("remote: its type %q is unknown", kind))
		case strings.Contains(r.URL, "{"):
			reasons = append(reasons, "remote: its URL needs a value")
		case !isWebURL(r.URL):
			reasons = append(reasons, fmt.Sprintf("remote: %q is not a URL that begins with http:// or https://", r.URL))
		case len(missing) > 0:
			reasons = append(reasons, "remote: needs the header "+strings.Join(missing, ", "))
		default:
			e.URL, e.Args, e.Flags = r.URL, []string{r.URL}, []string{"--transport", transport}
			for j := range r.Headers {
				if value, ok := r.Headers[j].fixedValue(); ok {
					e.Flags = append(e.Flags, "--header", r.Headers[j].Name+": "+value)
				}
			}
			return e
		}
	}
	if e.Unusable = strings.Join(reasons, "; "); e.Unusable == "" {
		e.Unusable = "the registry names neither a package nor a remote"
	}
	return e
}

func firstNonEmpty(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// isReserved reports whether a variable decides where a server and the programs that start it read
// and write. The registry can't set such a variable.
func isReserved(name string) bool {
	return slices.Contains([]string{"HOME", "PATH", "TMPDIR"}, name) || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_")
}

// startCommand returns the command that starts the package, and its environment, or the reason why
// the package can't be started. It never uses the package's arguments for the runtime, because
// whoever published the package could use them to give a container access to the whole disk.
func (p *registryPackage) startCommand() (argv, env []string, reason string) {
	versioned := p.Identifier
	if p.Version != "" {
		versioned += "@" + p.Version
	}
	switch {
	case p.Identifier == "" || strings.HasPrefix(p.Identifier, "-"):
		return nil, nil, fmt.Sprintf("its identifier %q can't be used", p.Identifier)
	case p.Transport.Type != "" && p.Transport.Type != "stdio":
		return nil, nil, "it is reached over " + p.Transport.Type + "; name its URL in a list of mcp-conform's own format"
	case slices.ContainsFunc(p.RuntimeArguments, func(v variable) bool { return v.IsRequired }):
		return nil, nil, "it requires arguments for its runtime"
	}
	switch p.Type {
	case "npm":
		argv = []string{"npx", "-y", versioned}
	case "pypi":
		argv = []string{"uvx", versioned}
	case "nuget":
		argv = []string{"dnx", versioned, "--yes", "--"}
	case "oci":
		image := p.Identifier
		if name := image[strings.LastIndexByte(image, '/')+1:]; p.Version != "" && !strings.ContainsAny(name, ":@") {
			image += ":" + p.Version
		}
		argv = []string{"docker", "run", "-i", "--rm"}
		for i := range p.Environment {
			if _, ok := p.Environment[i].fixedValue(); ok {
				argv = append(argv, "-e", p.Environment[i].Name)
			}
		}
		argv = append(argv, image)
	default:
		return nil, nil, fmt.Sprintf("packages of the type %q can't be started", p.Type)
	}
	for i := range p.PackageArguments {
		a := &p.PackageArguments[i]
		value, ok := a.fixedValue()
		switch {
		case !ok && a.IsRequired:
			return nil, nil, "needs a value for the argument " + firstNonEmpty(a.Name, a.ValueHint)
		case a.Type == "named" && ok:
			argv = append(argv, a.Name, value)
		case a.Type != "named" && ok:
			argv = append(argv, value)
		}
	}
	for i := range p.Environment {
		v := &p.Environment[i]
		value, ok := v.fixedValue()
		switch {
		case ok && isReserved(v.Name):
			return nil, nil, "sets the variable " + v.Name
		case ok:
			env = append(env, v.Name+"="+value)
		case v.IsRequired:
			return nil, nil, "needs the variable " + v.Name + "; name it under env in a list of mcp-conform's own format"
		}
	}
	return argv, env, ""
}

// canonicalJSON returns a document as JSON that does not depend on the document's spacing. It
// returns nil if JSON can't express the document.
func canonicalJSON(n *yaml.Node) []byte {
	var value any
	if err := n.Decode(&value); err != nil {
		return nil
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(value); err != nil {
		return nil
	}
	return b.Bytes()
}
