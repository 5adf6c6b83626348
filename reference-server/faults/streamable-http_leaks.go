package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// leakFaults have what belongs to one session reach another.
func leakFaults() []Fault {
	const isolated = "streamable-http.session-isolation/"
	return []Fault{
		breaksAfresh(isolated+"log-level", "the log level that one client sets counts for all", func() refserver.Seams {
			return forAll(asking(spec.MethodSetLevel))
		}),
		breaksAfresh(isolated+"logs", "log messages go to all sessions", func() refserver.Seams {
			return elsewhere(true, wire.Notification, spec.MethodMessage)
		}),
		breaksAfresh(isolated+"asked-of-all", "a question to the client of one session is asked of another, too", func() refserver.Seams {
			return elsewhere(true, wire.Request, spec.MethodSampling, spec.MethodElicit, spec.MethodRootsList)
		}),
		breaksAfresh(isolated+"asked-elsewhere", "a question to the client of one session is asked of another instead", func() refserver.Seams {
			return elsewhere(false, wire.Request, spec.MethodSampling, spec.MethodElicit, spec.MethodRootsList)
		}),
		breaksAfresh(isolated+"revision", "the revision that the latest client negotiates counts for all lists of tools", func() refserver.Seams {
			known := &members{}
			var mu sync.Mutex
			version := ""
			return alters(anyVisit, func(v *visit, r *reply) {
				mu.Lock()
				defer mu.Unlock()
				if initializes(v) && len(v.frame.Messages) == 1 {
					version, _ = wire.Text(wire.At(v.frame.Messages[0].Params(), "/protocolVersion"))
				}
				if latest := known.latest(); v.has(wire.Request, spec.MethodToolsList) && known.has(v.session()) && v.r.Header.Get(versionHeader) != version {
					v.as(latest)
					v.r.Header.Set(versionHeader, version)
				}
				known.joins(v, r)
			})
		}),
		breaksAfresh(isolated+"all-end", "the end of one session ends all of them", allEnd),
	}
}

// elsewhere puts what a call sends to its client on the stream on which another
// session listens; copied leaves it where it was, too. What the other client
// replies goes to the session that asked.
func elsewhere(copied bool, kind wire.Kind, methods ...string) refserver.Seams {
	e := newEars()
	var mu sync.Mutex
	askedBy := map[string]string{} // by the session that was asked
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		switch {
		case listens(v):
			remove := e.add(session, r)
			go func() { <-v.r.Context().Done(); remove() }()
		case replying(v) && !copied:
			mu.Lock()
			if by := askedBy[session]; by != "" {
				v.as(by)
			}
			mu.Unlock()
		case posts(v):
			r.edit = func(b []byte) []byte {
				other := e.other(session)
				if other == "" || !r.streams() || !carries(b, kind, methods...) {
					return b
				}
				mu.Lock()
				askedBy[other] = session
				mu.Unlock()
				e.say(other, withoutID(b))
				if copied {
					return b
				}
				return nil
			}
		}
	})
}

func firstOf(streams []*reply) []*reply { return streams[:min(1, len(streams))] }

// copiedTo puts messages on some of the streams on which clients listen, which
// come in the order in which they were opened.
func copiedTo(some func(streams []*reply) []*reply, kind wire.Kind, methods ...string) refserver.Seams {
	var mu sync.Mutex
	var streams []*reply
	return alters(anyVisit, func(v *visit, r *reply) {
		if listens(v) {
			mu.Lock()
			streams = append(streams, r)
			mu.Unlock()
		}
		r.edit = func(b []byte) []byte {
			if r.streams() && carries(b, kind, methods...) {
				event := slices.Clone(b)
				mu.Lock()
				others := slices.DeleteFunc(slices.Clone(some(streams)), func(other *reply) bool { return other == r })
				mu.Unlock()
				for _, other := range others {
					go other.put(event) // it may be writing to this stream just now
				}
			}
			return b
		}
	})
}

// allEnd ends all sessions with the first that a client ends.
func allEnd() refserver.Seams {
	var mu sync.Mutex
	known := &members{}
	return alters(anyVisit, func(v *visit, r *reply) {
		own := v.r.Header.Get(sessionHeader)
		if deletes(v) {
			mu.Lock()
			defer mu.Unlock()
			for known.count() > 0 {
				id := known.latest()
				known.drop(id)
				if id != own {
					other := v.r.Clone(v.r.Context())
					other.Header.Set(sessionHeader, id)
					v.unheard(other)
				}
			}
			return
		}
		known.joins(v, r)
	})
}

// legalLeaks are what a server may tell all sessions.
func legalLeaks() []Fault {
	return []Fault{
		legalAfresh("http-log-for-all", "the server logs for all sessions, now and then, how it is", func() refserver.Seams {
			e := newEars()
			return alters(anyVisit, func(v *visit, r *reply) {
				if !listens(v) {
					return
				}
				session := v.r.Header.Get(sessionHeader)
				remove := e.add(session, r)
				go func() {
					defer remove()
					const report = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"the disk is full"}}`
					for pause(v.r.Context(), 30*time.Millisecond) {
						e.say(session, []byte("event: message\ndata: "+report+"\n\n"))
					}
				}()
			})
		}),
	}
}
