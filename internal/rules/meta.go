package rules

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	metaPrefix       = "base.meta-key-prefix"
	metaName         = "base.meta-key-name"
	metaReverseDNS   = "base.meta-reverse-dns"
	metaReserved2506 = "base.meta-reserved-prefix-2025-06-18"
	metaReserved2511 = "base.meta-reserved-prefix-2025-11-25"
)

func metaRules() []Rule {
	return []Rule{{
		ID:           "rule.meta-keys",
		Title:        "keys of _meta objects are well-formed",
		Requirements: []string{metaPrefix, metaName, metaReverseDNS, metaReserved2506, metaReserved2511},
		Start: WithoutState(onMessage(func(s *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
			keys := metaKeys(m.Params())
			if m.Has("result") {
				keys = append(keys, MemoResult(s, m, metaKeysKey{}, func() []string { return metaKeys(m.Result()) })...)
			}
			places := sync.OnceValue(func() map[string]jsontext.Pointer { return placesOfMetaKeys(m) })
			for _, key := range keys {
				judgeMetaKey(s, e, places, key, out)
			}
		})),
	}}
}

// metaKeysKey is the memo key of the keys in the _meta objects of a result.
type metaKeysKey struct{}

// metaKeys returns the keys of each _meta object in v.
func metaKeys(v jsontext.Value) []string {
	var keys []string
	if !wire.MayHaveMember(v, "_meta") {
		return nil
	}
	walkMeta(v, "", metaDepth, func(key string, _ jsontext.Pointer) { keys = append(keys, key) })
	return keys
}

// placesOfMetaKeys returns the pointer of the first member with each key of the _meta objects of the
// message. Only deviations need it.
func placesOfMetaKeys(m *wire.Message) map[string]jsontext.Pointer {
	places := map[string]jsontext.Pointer{}
	see := func(key string, in jsontext.Pointer) {
		if _, known := places[key]; !known {
			places[key] = in.AppendToken(key)
		}
	}
	walkMeta(m.Params(), "/params", metaDepth, see)
	if m.Has("result") {
		walkMeta(m.Result(), "/result", metaDepth, see)
	}
	return places
}

// opaque are members whose value is defined by the server, not by the protocol, so that a nested
// member named _meta has no special meaning.
var opaque = []string{
	"_meta", "structuredContent", "inputSchema", "outputSchema", "requestedSchema",
	"arguments", "data", "experimental", "extensions", "metadata", "input",
}

// metaDepth bounds the depth at which messages are searched. No revision has a deeper _meta
// object, and each level costs another parse of everything below it.
const metaDepth = 12

// walkMeta calls the function see with each key of each _meta object in v, down to the given depth,
// and with the pointer of that object; at is the pointer of v.
func walkMeta(v jsontext.Value, at jsontext.Pointer, depth int, see func(key string, in jsontext.Pointer)) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case '{':
		names, values := wire.Members(v)
		if meta, ok := values["_meta"]; ok {
			keys, _ := wire.Members(meta)
			for _, key := range keys {
				see(key, at+"/_meta")
			}
		}
		for _, name := range names {
			if !slices.Contains(opaque, name) && wire.MayHaveMember(values[name], "_meta") {
				walkMeta(values[name], at.AppendToken(name), depth-1, see)
			}
		}
	case '[':
		for i, element := range wire.Elements(v) {
			if wire.MayHaveMember(element, "_meta") {
				walkMeta(element, at+"/"+jsontext.Pointer(strconv.Itoa(i)), depth-1, see)
			}
		}
	}
}

// isMetaName reports whether the part of a key after the prefix is valid.
func isMetaName(name string) bool { return name == "" || isWord(name, "._-") }

// isMetaLabel reports whether a label of a prefix is valid.
func isMetaLabel(label string) bool { return isWord(label, "-") && !isDigit(label[0]) }

// isWord reports whether text is not empty and consists of ASCII letters and digits. The characters
// in the argument between are also permitted, but not at the beginning or end of text.
func isWord(text, between string) bool {
	for i := range len(text) {
		c := text[i]
		switch inner := 0 < i && i < len(text)-1; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', isDigit(c), inner && strings.IndexByte(between, c) >= 0:
		default:
			return false
		}
	}
	return text != ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func judgeMetaKey(s *Session, e *transcript.Event, places func() map[string]jsontext.Pointer, key string, out *Reporter) {
	prefix, name, hasPrefix := strings.Cut(key, "/")
	if !hasPrefix {
		prefix, name = "", key
	}
	deviates := func(d verdict.Deviation) {
		at := places()[key]
		d.Seen, d.At, d.Pointer = "the key "+excerpt(wire.Quote(key))+" in "+excerpt(at.Parent()), positionsOf(e), string(at)
		out.Report(d)
	}
	if hasPrefix {
		labels := strings.Split(prefix, ".")
		if strings.Contains(name, "/") || slices.ContainsFunc(labels, isNoLabel) {
			deviates(verdict.Deviation{Requirement: metaPrefix, Summary: "The server's _meta key has a malformed prefix.", Permitted: prefixSyntax})
			return
		}
		out.MarkObserved(metaPrefix)
		judgeMetaPrefix(s, labels, key, deviates, out)
	}
	if isMetaName(name) {
		out.MarkObserved(metaName)
		return
	}
	deviates(verdict.Deviation{
		Requirement: metaName, Summary: "The server's _meta key has a malformed name.",
		Permitted: nameSyntax,
	})
}

// The syntax of keys of _meta, for people.
const (
	prefixSyntax = "a prefix such as com.example/: labels that begin with an ASCII letter and end with an ASCII letter or digit, with hyphens inside, joined by dots, then the key's only slash"
	nameSyntax   = "a name of ASCII letters, digits, hyphens, underscores and dots, with a letter or a digit at both ends"
)

// CheckPrefixedKey checks whether a key is valid in _meta and has a prefix. If not, it returns the
// first part that is wrong ("prefix" or "name") and the syntax of that part; otherwise "".
func CheckPrefixedKey(key string) (part, syntax string) {
	prefix, name, hasPrefix := strings.Cut(key, "/")
	switch {
	case !hasPrefix, strings.Contains(name, "/"), slices.ContainsFunc(strings.Split(prefix, "."), isNoLabel):
		return "prefix", prefixSyntax
	case !isMetaName(name):
		return "name", nameSyntax
	}
	return "", ""
}

func isNoLabel(label string) bool { return !isMetaLabel(label) }

// judgeMetaPrefix judges whether the server may use a well-formed prefix: it is not reserved for
// MCP, and looks like a reversed domain.
func judgeMetaPrefix(s *Session, labels []string, key string, deviates func(verdict.Deviation), out *Reporter) {
	if isReservedPrefix(labels, s.Revision()) && !isDefinedKey(key) {
		d := verdict.Deviation{
			Summary:   "The server uses a _meta prefix that is reserved for MCP.",
			Permitted: "a prefix of your own, such as com.example/, or a key that the specification defines",
		}
		for _, d.Requirement = range []string{metaReserved2506, metaReserved2511} {
			deviates(d) // only the requirement that exists in the revision has an effect
		}
		return // reserved, so the order of its labels does not matter
	}
	out.MarkObserved(metaReserved2506)
	out.MarkObserved(metaReserved2511)
	if len(labels) < 2 {
		return
	}
	if isTopLevelDomain(labels[len(labels)-1]) && !isTopLevelDomain(labels[0]) {
		deviates(verdict.Deviation{
			Requirement: metaReverseDNS, Summary: "The server's _meta prefix is a domain that is not reversed.",
			Permitted: "the domain in reverse order, such as com.example/",
			Weight:    verdict.OnlyNote, // which label is a top-level domain is a guess
		})
		return
	}
	out.MarkObserved(metaReverseDNS)
}

// isReservedPrefix reports whether the prefix is reserved for MCP. An MCP label is
// "modelcontextprotocol" or "mcp". In 2025-06-18 a prefix is reserved if an MCP label is followed
// by another label; in later revisions, if the second label is an MCP label.
func isReservedPrefix(labels []string, r spec.Revision) bool {
	if r == spec.V20250618 {
		return len(labels) > 1 && slices.ContainsFunc(labels[:len(labels)-1], isMCP)
	}
	return len(labels) > 1 && isMCP(labels[1])
}

func isMCP(label string) bool { return label == "modelcontextprotocol" || label == "mcp" }

// isDefinedKey reports whether any revision or official extension defines the key. A key that only
// another revision defines is not a misuse of the reserved prefix either.
func isDefinedKey(key string) bool {
	name, ok := strings.CutPrefix(key, "io.modelcontextprotocol/")
	return ok && slices.Contains([]string{
		"related-task", "model-immediate-response", "protocolVersion", "clientInfo", "clientCapabilities",
		"serverInfo", "subscriptionId", "logLevel", "ui", "tasks",
	}, name)
}

// isTopLevelDomain reports whether a label is a common top-level domain.
func isTopLevelDomain(label string) bool {
	return slices.Contains([]string{
		"com", "org", "net", "io", "dev", "ai", "app", "co", "edu", "gov", "info", "me", "xyz", "cloud", "tech",
		"uk", "us", "de", "fr", "eu", "jp", "cn", "in", "ch", "nl", "se", "ca", "au", "br", "ru", "kr", "it", "es", "pl",
	}, strings.ToLower(label))
}
