// Package redact removes secrets from what the program outputs, except for the messages that a
// recording passes on unchanged.
//
// A Secrets contains the secrets that the user declared. It finds them in any spelling:
// percent-encoded, escaped as in JSON, Go, HTML or XML, in base64 or hexadecimal, and split in two.
// What the program prints or writes passes through its Writer. A server's output passes through
// RedactText first, while it is still in one piece, because reports shorten and wrap it later.
//
// Shapes, IsSecretMember and IsSecretSetting recognize secrets that the user did not declare, by
// their form and by the names in front of them.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// Mark replaces a secret. It is valid wherever a secret can be: in a URI, in a
// name, in base64.
const Mark = "REDACTED"

const (
	// leastSecret is the minimum length, in bytes, of a word or number that counts as a
	// secret: replacing every "1" and "dev" would make a report unreadable.
	leastSecret = 6
	// leastMixed is the minimum length of a secret that is neither a word nor a number.
	leastMixed = 4
	// leastPart is the minimum length of a part of a secret that counts as a
	// match; the part must also be at least half of the secret, or certainPart long. A word or
	// number shorter than certainPart must match as a whole.
	leastPart = 6
	// certainPart is the length of a part that counts however long the secret is: half of a
	// JWT is longer than a line of wrapped base64.
	certainPart = 32
)

// Secrets is the set of known secrets. The zero value is an empty set. So is nil, but nothing can
// be added to it. A Secrets is safe for concurrent use.
type Secrets struct {
	mu       sync.Mutex
	values   map[string]bool
	compiled atomic.Pointer[finders] // nil if not compiled since values changed
	known    atomic.Bool             // whether there are values
}

// finders holds the finders for a set of secrets.
type finders struct {
	// all finds every secret. distinct finds only those that are not plain words or numbers,
	// because a report may itself contain a word such as "warning".
	all, distinct *finder
}

// New returns the set of these secrets.
func New(values ...string) *Secrets {
	s := &Secrets{}
	s.Add(values...)
	return s
}

// Add adds secrets. It ignores values that are too short to be recognized, and
// common settings such as "true" and "debug". It also adds each line of a
// multi-line value as a secret, except the PEM marker lines.
func (s *Secrets) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		s.add(strings.TrimSpace(value))
		if strings.ContainsAny(value, "\r\n") {
			for line := range strings.Lines(value) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") { // not the PEM marker lines
					s.add(line)
				}
			}
		}
	}
}

func (s *Secrets) add(value string) {
	least := leastMixed
	if isWordOrNumber(value) {
		least = leastSecret
	}
	if len(value) < least || s.values[value] || slices.Contains(settings, strings.ToLower(value)) {
		return
	}
	if s.values == nil {
		s.values = map[string]bool{}
	}
	s.values[value] = true
	s.compiled.Store(nil)
	s.known.Store(true)
}

// List returns the secrets, longest first.
func (s *Secrets) List() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list()
}

func (s *Secrets) list() []string {
	var list []string
	for value := range s.values {
		list = append(list, value)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return list
}

// finders returns the finders for the secrets, or nil if there are none.
func (s *Secrets) finders() *finders {
	if s == nil || !s.known.Load() {
		return nil
	}
	if f := s.compiled.Load(); f != nil {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all, distinct []pattern
	for _, value := range s.list() {
		for _, p := range spellings(value) {
			all = append(all, p)
			if !p.plain {
				distinct = append(distinct, p)
			}
		}
	}
	f := &finders{all: newFinder(all), distinct: newFinder(distinct)}
	s.compiled.Store(f)
	return f
}

// RedactText returns text, which comes from a server or the user, with each secret replaced with
// Mark.
func (s *Secrets) RedactText(text string) string {
	f := s.finders()
	if f == nil {
		return text
	}
	spans := f.all.findSpans([]byte(text))
	if len(spans) == 0 {
		return text
	}
	return string(replace([]byte(text), spans))
}

// RedactBytes is like RedactText, but for bytes. If text contains no secret, RedactBytes returns
// text itself, not a copy.
func (s *Secrets) RedactBytes(text []byte) []byte {
	if f := s.finders(); f != nil {
		return replace(text, f.all.findSpans(text))
	}
	return text
}

// A Span is a part of a text, as byte offsets: From is inclusive, To exclusive.
type Span struct{ From, To int }

// Spans returns the spans of the secrets in a text, in order and without overlap.
func (s *Secrets) Spans(text []byte) []Span {
	if f := s.finders(); f != nil {
		return f.all.findSpans(text)
	}
	return nil
}

// replace returns text with each span replaced by Mark.
func replace(text []byte, spans []Span) []byte {
	if len(spans) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	done := 0
	for _, sp := range spans {
		out = append(append(out, text[done:sp.From]...), Mark...)
		done = sp.To
	}
	return append(out, text[done:]...)
}

// Writer returns a writer that replaces secrets with Mark, except secrets that are plain words or
// numbers: RedactText and RedactBytes replace those, in a server's output. JSON, HTML and XML stay
// well-formed. Each Write is forwarded immediately. If a secret is split over two writes, a part is
// replaced only if it is long enough to count as a match and is not a common word.
func (s *Secrets) Writer(w io.Writer) io.Writer { return &writer{s, w} }

type writer struct {
	secrets *Secrets
	to      io.Writer
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	clean := p
	if f := w.secrets.finders(); f != nil {
		clean = replace(p, f.distinct.findSpans(p))
	}
	n, err := w.to.Write(clean)
	if err == nil && n < len(clean) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// wordShape matches a word or a number.
var wordShape = lazyregexp.New(`^(?:[A-Za-z]+|[0-9]+)$`)

// isWordOrNumber reports whether a value is a word or a number.
func isWordOrNumber(value string) bool { return wordShape.MatchString(value) }

// spellings returns the spellings of a secret that can be found in a text without unescaping it.
func spellings(secret string) []pattern {
	texts := []string{secret}
	add := func(text string) {
		if len(text) >= leastMixed && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if decoded, _ := unescape([]byte(secret)); decoded != nil {
		add(string(decoded))
	}
	if text, err := url.QueryUnescape(secret); err == nil {
		add(text)
	}
	if strings.Contains(secret, " ") {
		add(strings.ReplaceAll(secret, " ", "+"))
	}
	var out []pattern
	for _, text := range texts {
		p := pattern{text: text, least: leastPartOf(text), plain: isWordOrNumber(text)}
		if p.plain && len(text) < certainPart || p.least > len(text) {
			p.least = len(text)
		}
		out = append(out, p)
		for _, coded := range append(encodedSpellings(text), nestedBase64(text)...) {
			if len(coded) >= leastMixed {
				out = append(out, pattern{text: coded, least: min(len(coded), leastPartOf(coded)), coded: true})
			}
		}
	}
	return out
}

// nestedBase64 returns the base64 of encoded spellings of a text, because a file in base64 may
// contain a secret in base64, hexadecimal, a URL or JSON.
func nestedBase64(text string) []string {
	inner := encodedSpellings(text)
	quoted, _ := json.Marshal(text) // with <, > and & escaped
	for _, escaped := range []string{url.QueryEscape(text), url.PathEscape(text), quotes.Replace(text), string(quoted[1 : len(quoted)-1])} {
		if escaped != text {
			inner = append(inner, escaped)
		}
	}
	var out []string
	for _, text := range inner {
		out = append(out, base64Alignments(text)...)
	}
	return out
}

// quotes escapes backslashes and quotes as JSON does.
var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// leastPartOf returns the length of the shortest part of a spelling that counts as a match.
func leastPartOf(text string) int { return min(certainPart, max(leastPart, (len(text)+1)/2)) }

// encodedSpellings returns the spellings of text in hexadecimal and in base64.
func encodedSpellings(text string) []string {
	lower := hex.EncodeToString([]byte(text))
	return append([]string{lower, strings.ToUpper(lower)}, base64Alignments(text)...)
}

// base64Alignments returns, for each alignment of the text to groups of three bytes, the characters
// that do not depend on the bytes before and after the text, in both alphabets of base64.
func base64Alignments(text string) []string {
	var out []string
	for shift := range 3 {
		padded := append(bytes.Repeat([]byte{0}, shift), text...)
		from, to := (shift*8+5)/6, len(padded)*8/6 // a character at either end also encodes bits of the adjacent bytes
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if part := encoding.EncodeToString(padded)[from:to]; !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	return out
}
