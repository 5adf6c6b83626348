package mrtr

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A forgery is a changed state.
type forgery struct {
	what   string
	state  string
	marker string // what the result shows if the server uses the change; may be ""
	edited bool   // the state is as before, apart from one value in its content
	cut    *cut   // how the signature was changed; nil if it was not
}

// forgeries returns changes of a state: some that only make the state invalid, some that only change
// the signature and, if the state is JSON, some that replace a value in it.
func forgeries(state string) []forgery {
	out := []forgery{{what: "a string that the server never sent", state: "mcp-conform-made-up"}}
	if n := len(state); n >= 4 {
		out = append(out, forgery{what: "half of the state", state: state[:n/2]}, forgery{what: "a changed character", state: flipCharacter(state, n/3)})
	}
	if payload, signature := splitState(state); len(signature) > 1 {
		for _, cut := range cuts {
			out = append(out, forgery{what: "the state " + cut.what, state: payload + cut.signature, cut: cut})
		}
	}
	return append(out, editedStates(state, nil)...)
}

// A cut is a change of a state's signature that a server which verifies carelessly accepts: it may
// verify only if there is a signature, or compare only as many bytes as there are.
type cut struct {
	what      string
	signature string // with the dot before it
}

var cuts = []*cut{{"without its signature", ""}, {"with an empty signature", "."}}

// splitState splits a state into its content and what follows the last dot: a signature, with the
// dot. The signature is "" if there is none.
func splitState(state string) (payload, signature string) {
	if !strings.HasPrefix(state, "{") {
		if i := strings.LastIndexByte(state, '.'); i > 0 {
			return state[:i], state[i:]
		}
	}
	return state, ""
}

// flipCharacter replaces the byte at a position with an A, or with a B if it is an A. If the
// position is past the end, it appends an A.
func flipCharacter(state string, at int) string {
	b := []byte(state)
	if at >= len(b) {
		return state + "A"
	}
	if b[at] == 'A' {
		b[at] = 'B'
	} else {
		b[at] = 'A'
	}
	return string(b)
}

// marker replaces a string in a state, and markerNumber a number.
const (
	marker       = "mcp-conform-forged"
	markerNumber = 814072635
)

// maxEdits bounds the values that are replaced.
const maxEdits = 6

// editedStates returns the states in which one value of the content is replaced, and the signature
// is cut unless cut is nil. The content must be a JSON object, plain or in base64. A dot and a
// signature may follow it.
func editedStates(state string, cut *cut) []forgery {
	payload, rest := splitState(state)
	what := "a replaced value in its content"
	if cut != nil {
		rest, what = cut.signature, what+", "+cut.what
	}
	encode := func(b []byte) string { return string(b) }
	content := []byte(payload)
	for _, e := range []*base64.Encoding{base64.RawURLEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.StdEncoding} {
		if b, err := e.DecodeString(payload); err == nil {
			content, encode = b, func(b []byte) string { return e.EncodeToString(b) }
			break
		}
	}
	var object map[string]any
	if json.Unmarshal(content, &object) != nil {
		return nil
	}
	var out []forgery
	for n := range maxEdits {
		var edited map[string]any
		if json.Unmarshal(content, &edited) != nil {
			break
		}
		found, shows := replaceScalar(edited, &n)
		if !found {
			break
		}
		b, err := json.Marshal(edited)
		if err != nil {
			break
		}
		out = append(out, forgery{what: what, state: encode(b) + rest, marker: shows, edited: true})
	}
	return out
}

// replaceScalar replaces the nth string, number or boolean in v, counted from 0 in the order of
// the keys. It decrements *n for each one that it skips. It reports whether there is an nth one,
// and returns what a result contains if the server uses the replacement; "" means that no result
// can show this.
func replaceScalar(v any, n *int) (found bool, shows string) {
	replace := func(inner any, set func(any)) bool {
		var by any
		switch inner := inner.(type) {
		case string:
			by, shows = marker, marker
		case float64:
			by, shows = markerNumber, strconv.Itoa(markerNumber)
		case bool:
			by, shows = !inner, ""
		default:
			found, shows = replaceScalar(inner, n)
			return found
		}
		if *n > 0 {
			*n--
			return false
		}
		set(by)
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if replace(v[key], func(x any) { v[key] = x }) {
				return true, shows
			}
		}
	case []any:
		for i := range v {
			if replace(v[i], func(x any) { v[i] = x }) {
				return true, shows
			}
		}
	}
	return false, ""
}

// forgedRetries returns, for each state that forge returns, the params of a retry with it. Each
// retries a new request, because a state may be usable only once. The sequence ends when a request
// gets no state.
func (a inputRequest) forgedRetries(ctx context.Context, state string, forge func(state string) []forgery) iter.Seq2[forgery, map[string]any] {
	return func(yield func(forgery, map[string]any) bool) {
		for i := range forge(state) {
			next, ok := a.begin(ctx)
			state, hasState := stateOf(next)
			all := forge(state)
			if !ok || !hasState || i >= len(all) || ctx.Err() != nil || !yield(all[i], withMember(next, "requestState", all[i].state)) {
				return
			}
		}
	}
}

// tamperWithState retries the request with changed states; first is a state that the server
// returned for it, and own is the reply to the retry with that state. If the server accepts a state whose
// signature is cut, tamperWithState also changes the content of such a state. It reports whether a
// change was accepted.
func tamperWithState(ctx context.Context, t *suite.T, a inputRequest, first string, own *client.Reply) (accepted bool) {
	f := &forger{a: a, own: own}
	f.retry(ctx, t, first, forgeries)
	for _, cut := range f.cuts {
		f.retry(ctx, t, first, func(state string) []forgery { return editedStates(state, cut) })
	}
	return f.accepted
}

// A forger retries a request with changed states.
type forger struct {
	a        inputRequest
	own      *client.Reply // to the retry with the server's own state
	unknown  *client.Reply // to the retry with a state that the server never sent
	accepted bool          // a change was accepted
	cuts     []*cut        // those that were accepted
}

// retry retries the request with the states that forge returns for the server's own. Whether the
// state matters to the server is not known, so an accepted change is only a note, unless the result
// shows that the server used it. If only another result shows that, it is a warning.
func (f *forger) retry(ctx context.Context, t *suite.T, first string, forge func(state string) []forgery) {
	a := f.a
	for forged, params := range a.forgedRetries(ctx, first, forge) {
		r := a.send(ctx, params)
		if !r.Answered() {
			return
		}
		if f.unknown == nil {
			f.unknown = r
		}
		if !isCompleteResult(r) {
			t.MarkKept(stateTampered)
			continue
		}
		f.accepted = true
		if forged.cut != nil {
			f.cuts = append(f.cuts, forged.cut)
		}
		d := verdict.Deviation{
			Requirement: stateTampered,
			Summary:     "The server accepts a requestState that the client changed.",
			Permitted:   "an error, or input_required once more; anything if the state does not matter",
			Seen:        "a complete result for " + forged.what,
			At:          r.Positions(),
			Weight:      verdict.OnlyNote,
		}
		if m := forged.marker; m != "" && strings.Contains(string(r.Message.Result()), m) {
			d.Summary, d.Permitted, d.Weight = "The server acts on a requestState that the client changed.", "an error, or input_required once more", 0
			d.Seen = "the replaced value of the state in the result: " + wire.Excerpt(string(r.Message.Raw), 200)
		} else if forged.edited && !hasSameContent(r, f.own) && !hasSameContent(r, f.unknown) && a.repeats(ctx, f.own) {
			d.Summary, d.Permitted, d.Weight = "The server's result depends on a requestState that the client changed.", "an error, or input_required once more", verdict.AtMostWarning
			d.Seen = "another result for " + forged.what + ": " + wire.Excerpt(string(r.Message.Raw), 200)
		}
		t.Report(a.c, d)
	}
}

// hasSameContent reports whether two results are equal apart from _meta.
func hasSameContent(r, other *client.Reply) bool {
	content := func(r *client.Reply) string {
		_, members := wire.Members(responseResult(r))
		delete(members, "_meta")
		return string(wire.JSON(members))
	}
	return content(r) == content(other)
}

// repeats makes the request again, retries it with the server's own state, and reports whether the
// result is equal to that of own.
func (a inputRequest) repeats(ctx context.Context, own *client.Reply) bool {
	next, ok := a.begin(ctx)
	return ok && hasSameContent(a.send(ctx, next), own)
}
