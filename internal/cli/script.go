package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// Limits of what is shown of a script.
const (
	maxOperations  = 12  // operations: half of them the first ones, and half the last ones
	maxLine        = 200 // bytes of a message
	maxOwnMessages = 4   // messages that the client sent on its own, after one operation
)

// scriptLines describes what a search sent: a summary line, then one line for each operation,
// followed by the messages that the client sent after it by itself, such as responses to the
// server's requests. It applies redact before it truncates anything, because part of a secret still
// reveals something. The argument hasFile reports whether a replay file contains the whole script.
func scriptLines(f *fuzz.Finding, redact func(string) string, hasFile bool) []string {
	out := []string{fmt.Sprintf("%s, %s; law: %s; %s%s", countWithNoun(len(f.Script.Operations), "operation", "operations"),
		countWithNoun(f.Script.Size(), "byte", "bytes"), f.Law, retriesText(f), cutText(f))}
	did := map[int][]string{}
	for _, d := range f.OwnMessages() {
		did[d.After] = append(did[d.After], d.Text)
	}
	addOwnMessages := func(after int) {
		all := did[after]
		if more := len(all) - maxOwnMessages; more > 0 { // the last ones are closest to the observation
			all = all[more:]
			out = append(out, fmt.Sprintf("  … by itself, the client sent %s before", countWithNoun(more, "more message", "more messages")))
		}
		for _, text := range all {
			out = append(out, "  … by itself, "+reporters.Visible(shortenMessage(redact(text), maxLine)))
		}
	}
	addOwnMessages(-1)
	for i := 0; i < len(f.Script.Operations); i++ {
		if more := len(f.Script.Operations) - maxOperations; more > 0 && i == maxOperations/2 {
			line := "… " + countWithNoun(more, "more operation", "more operations")
			if hasFile {
				line += ", which the replay file has"
			}
			out = append(out, line)
			for n := i + 1; n < i+more; n++ {
				did[i] = append(did[i], did[n]...)
			}
			addOwnMessages(i)
			i += more
		}
		out = append(out, "→ "+reporters.Visible(operationLine(&f.Script.Operations[i], redact)))
		addOwnMessages(i)
	}
	return out
}

// operationLine describes one operation on one line.
func operationLine(o *script.Operation, redact func(string) string) string {
	text := string(o.Do)
	switch {
	case len(o.Message) > 0:
		message := shortenMessage(redact(withPlaceholders(o)), maxLine)
		if o.Method != "" && !strings.Contains(message, o.Method) { // the truncated message no longer names the method
			text += " " + o.Method + ":"
		}
		text += " " + message
	case o.Exchange != nil:
		text += " " + o.Exchange.Method + ": " + o.Exchange.Why
	case o.Method != "":
		text += " " + o.Method
	}
	switch {
	case o.Target != nil && o.Do == script.Send:
		text += "   (the next round of " + shortenMessage(string(o.Target), maxID) + ")"
	case o.Target != nil:
		text += " " + shortenMessage(string(o.Target), maxID)
	}
	if o.On > 0 {
		text = fmt.Sprintf("(conversation %d) ", o.On+1) + text
	}
	if o.Await {
		text += "   (waits for the response)"
	}
	return strings.TrimRight(text, " ")
}

// withPlaceholders returns the message with placeholders for the values that it takes from earlier
// responses. The values that the script's message has in these places are never sent.
func withPlaceholders(o *script.Operation) string {
	names, members := wire.Members(jsontext.Value(o.Message))
	if len(o.Take) == 0 || members == nil {
		return string(o.Message)
	}
	inside, params := wire.Members(members["params"])
	if params == nil {
		params = map[string]jsontext.Value{}
	}
	for _, t := range o.Take {
		if !slices.Contains(inside, t.Into) {
			inside = append(inside, t.Into)
		}
		what := strings.TrimPrefix(t.From, "/result/")
		params[t.Into] = jsontext.Value(fmt.Sprintf("<%s of the response to %s>", what, shortenMessage(string(t.ID), maxID)))
	}
	if members["params"] == nil {
		names = append(names, "params")
	}
	members["params"] = wire.Object(inside, params)
	return string(wire.Object(names, members))
}

// maxID is the number of bytes to which operationLine and withPlaceholders shorten the id of an
// earlier request to which the operation refers.
const maxID = 40

// shortenMessage shortens a message to at most the given number of bytes. It first cuts the middle
// of long values, because the method may come after them.
func shortenMessage(text string, most int) string {
	for _, room := range []int{80, 60, 40, 24} {
		if len(text) <= most {
			return text
		}
		text = shortenValues(text, room)
	}
	if len(text) <= most {
		return text
	}
	return cutMiddle(text, most)
}

// shortenValues shortens each string, number or word of a JSON value to about room bytes. It
// handles text that is not JSON in the same way.
func shortenValues(text string, room int) string {
	var out strings.Builder
	for len(text) > 0 {
		n := 1
		switch {
		case text[0] == '"':
			for n < len(text) && text[n] != '"' {
				if text[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(text))
		case !strings.ContainsRune(punctuation, rune(text[0])):
			if n = strings.IndexAny(text, punctuation); n < 0 {
				n = len(text)
			}
		}
		out.WriteString(cutMiddle(text[:n], room))
		text = text[n:]
	}
	return out.String()
}

// punctuation has the characters that separate JSON values.
const punctuation = "\"{}[]:, \t\r\n"

// cutMiddle shortens text to about room bytes by removing its middle, without splitting a
// character.
func cutMiddle(text string, room int) string {
	if len(text) <= room {
		return text
	}
	from, to := room*2/3, len(text)-(room/3-len("…"))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return text[:from] + "…" + text[to:]
}
