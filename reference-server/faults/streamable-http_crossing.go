package faults

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// crossingFaults mix up what belongs to sessions that live side by side.
func crossingFaults() []Fault {
	const several, isolated = "streamable-http.multiple-clients/", "streamable-http.session-isolation/"
	return []Fault{
		breaksAfresh(several+"crossed", "an answer goes to the client that last made a call with its id", crossed),
		breaksAfresh(isolated+"cancels", "a cancellation cancels the requests with its id in all sessions", func() refserver.Seams { return forAll(isCancelling) }),
		breaksAfresh(isolated+"replies-crossed", "what one client answers goes to another session that waits", repliesCrossed),
	}
}

func isCancelling(v *visit) bool { return v.has(wire.Notification, spec.MethodCancelled) }

const legacySession = "sessionId"

// session returns the session that a request names, over either transport.
func (v *visit) session() string {
	if id := v.r.Header.Get(sessionHeader); id != "" {
		return id
	}
	return v.r.URL.Query().Get(legacySession)
}

// as has the request name another session.
func (v *visit) as(session string) {
	q := v.r.URL.Query()
	if q.Get(legacySession) == "" {
		v.r.Header.Set(sessionHeader, session)
		return
	}
	q.Set(legacySession, session)
	v.r.URL.RawQuery = q.Encode()
}

// forAll has some requests of one session count for all.
func forAll(when func(v *visit) bool) refserver.Seams {
	var mu sync.Mutex
	var known []string
	return visits(posts, func(v *visit) {
		own := v.session()
		mu.Lock()
		if !slices.Contains(known, own) && own != "" {
			known = append(known, own)
		}
		others := slices.Clone(known)
		mu.Unlock()
		if when(v) {
			body, _ := io.ReadAll(v.r.Body)
			v.r.Body = io.NopCloser(bytes.NewReader(body))
			for _, other := range others {
				if other != own {
					copied := &visit{r: v.r.Clone(v.r.Context())}
					copied.r.Body = io.NopCloser(bytes.NewReader(body))
					copied.as(other)
					v.unheard(copied.r)
				}
			}
		}
		v.serve()
	})
}

// calls returns the ids of the requests in the body that call tools.
func (v *visit) calls() []string {
	var out []string
	for i := range v.frame.Messages {
		if m := &v.frame.Messages[i]; m.Kind == wire.Request && m.Method == spec.MethodToolsCall {
			out = append(out, m.ID.Key())
		}
	}
	return out
}

// answerTo returns the id of the response in an event, "" for none.
func answerTo(event []byte) string {
	if !bringsResponse(event) {
		return ""
	}
	return wire.Parse(data(event)).Messages[0].ID.Key()
}

// crossed keeps the streams of all clients by the ids of their calls alone.
func crossed() refserver.Seams {
	var mu sync.Mutex
	newest := map[string]*reply{}
	return alters(asking(spec.MethodToolsCall), func(v *visit, r *reply) {
		mu.Lock()
		for _, id := range v.calls() {
			newest[id] = r
		}
		mu.Unlock()
		r.edit = func(b []byte) []byte {
			mu.Lock()
			to := newest[answerTo(b)]
			mu.Unlock()
			if to == nil || to == r || !r.streams() {
				return b
			}
			to.put(withoutID(b))
			return nil
		}
	})
}

// partner is a response of a client that waits for one of another session.
type partner struct {
	session string
	other   chan string
}

// repliesCrossed gives two sessions each the response of the other's client,
// where both respond at about the same time.
func repliesCrossed() refserver.Seams {
	var mu sync.Mutex
	var waiting *partner
	return visits(replying, func(v *visit) {
		own := &partner{session: v.session(), other: make(chan string, 1)}
		mu.Lock()
		if first := waiting; first != nil && first.session != own.session {
			waiting = nil
			first.other <- own.session
			own.other <- first.session
		} else {
			waiting = own
		}
		mu.Unlock()
		select {
		case session := <-own.other:
			v.as(session)
		case <-time.After(10 * briefly):
			mu.Lock()
			if waiting == own {
				waiting = nil
			}
			mu.Unlock()
		}
		v.serve()
	})
}

// legalCrossing are what sessions side by side may share.
func legalCrossing() []Fault {
	return []Fault{
		legalAfresh("http-changes-for-all", "a change of a list is told to all sessions", func() refserver.Seams {
			e := newEars()
			return together(harmless("trigger-list-changed"), alters(anyVisit, func(v *visit, r *reply) {
				session := v.r.Header.Get(sessionHeader)
				if listens(v) {
					remove := e.add(session, r)
					go func() { <-v.r.Context().Done(); remove() }()
					return
				}
				r.edit = func(b []byte) []byte {
					if other := e.other(session); r.streams() && other != "" && carries(b, wire.Notification, spec.MethodToolsChanged, spec.MethodPromptsChanged, spec.MethodResourcesChanged) {
						e.say(other, withoutID(b))
					}
					return b
				}
			}))
		}),
		legalAfresh("http-one-at-a-time", "what the clients of all sessions want is done one behind the other", func() refserver.Seams {
			var mu sync.Mutex
			return visits(asking(spec.MethodToolsList, spec.MethodPing, spec.MethodPromptsList, spec.MethodResourcesList), func(v *visit) {
				mu.Lock()
				defer mu.Unlock()
				v.serve()
			})
		}),
	}
}
