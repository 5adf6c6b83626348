package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// leakFaults returns the faults that leak messages or state of one session to another.
func leakFaults() []*Fault {
	const isolated = "streamable-http.session-isolation/"
	return []*Fault{
		newFaultWithState(isolated+"log-level", "one client's log level applies to all sessions", func() *refserver.Seams {
			return applyToAllSessions(hasRequestOf(spec.MethodSetLevel))
		}),
		newFaultWithState(isolated+"logs", "log messages are also sent to another session", func() *refserver.Seams {
			return sendToOtherSession(true, wire.Notification, spec.MethodMessage)
		}),
		newFaultWithState(isolated+"asked-of-all", "requests to one session's client are also sent to another", func() *refserver.Seams {
			return sendToOtherSession(true, wire.Request, spec.MethodSampling, spec.MethodElicit, spec.MethodRootsList)
		}),
		newFaultWithState(isolated+"asked-elsewhere", "requests to one session's client are sent to another instead", func() *refserver.Seams {
			return sendToOtherSession(false, wire.Request, spec.MethodSampling, spec.MethodElicit, spec.MethodRootsList)
		}),
		newFaultWithState(isolated+"revision", "the latest negotiated revision applies to tools/list in all sessions", func() *refserver.Seams {
			known := &sessionList{}
			var mu sync.Mutex
			version := ""
			return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
				mu.Lock()
				defer mu.Unlock()
				if isInitialize(v) && len(v.frame.Messages) == 1 {
					version, _ = wire.Text(wire.At(v.frame.Messages[0].Params(), "/protocolVersion"))
				}
				if latest := known.latest(); v.has(wire.Request, spec.MethodToolsList) && known.has(v.session()) && v.r.Header.Get(versionHeader) != version {
					v.setSession(latest)
					v.r.Header.Set(versionHeader, version)
				}
				known.track(v, r)
			})
		}),
		newFaultWithState(isolated+"unsubscribed", "one client's unsubscribe ends the subscriptions of all sessions", func() *refserver.Seams {
			return combineSeams(markReadOnly("update-resource"), applyToAllSessions(hasRequestOf(spec.MethodResourcesUnsubscribe)))
		}),
		newFaultWithState(isolated+"all-end", "the end of one session ends all sessions", endAllSessions),
	}
}

// sendToOtherSession sends the messages of calls on another session's listening stream, if they are
// of the given kind and, if methods are given, of one of these methods. If copied is true, the
// call's own client also gets them. Otherwise the server delivers the other client's responses to
// the session of the call.
func sendToOtherSession(copied bool, kind wire.Kind, methods ...string) *refserver.Seams {
	e := newListeningStreams()
	var mu sync.Mutex
	askedBy := map[string]string{} // maps the session that received a request to the session of the call
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		switch {
		case opensListeningStream(v):
			remove := e.add(session, r)
			go func() { <-v.r.Context().Done(); remove() }()
		case hasOnlyResponses(v) && !copied:
			mu.Lock()
			if by := askedBy[session]; by != "" {
				v.setSession(by)
			}
			mu.Unlock()
		case isPost(v):
			r.editBody = func(b []byte) []byte {
				other := e.otherSession(session)
				if other == "" || !r.isStream() || !eventCarries(b, kind, methods...) {
					return b
				}
				mu.Lock()
				askedBy[other] = session
				mu.Unlock()
				e.write(other, removeEventID(b))
				if copied {
					return b
				}
				return nil
			}
		}
	})
}

func firstStream(streams []*responseEditor) []*responseEditor { return streams[:min(1, len(streams))] }

// copyToListeningStreams also sends the messages of the given kind on the listening streams that
// the function pick selects. If methods are given, it does so only for messages of these methods.
// pick receives all listening streams that were ever opened, oldest first.
func copyToListeningStreams(pick func(streams []*responseEditor) []*responseEditor, kind wire.Kind, methods ...string) *refserver.Seams {
	var mu sync.Mutex
	var streams []*responseEditor
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		if opensListeningStream(v) {
			mu.Lock()
			streams = append(streams, r)
			mu.Unlock()
		}
		r.editBody = func(b []byte) []byte {
			if r.isStream() && eventCarries(b, kind, methods...) {
				event := slices.Clone(b)
				mu.Lock()
				others := slices.DeleteFunc(slices.Clone(pick(streams)), func(other *responseEditor) bool { return other == r })
				mu.Unlock()
				for _, other := range others {
					go other.writeRaw(event) // in a goroutine: the other stream may be writing now
				}
			}
			return b
		}
	})
}

// endAllSessions ends all sessions when a client ends one.
func endAllSessions() *refserver.Seams {
	var mu sync.Mutex
	known := &sessionList{}
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		own := v.r.Header.Get(sessionHeader)
		if isDelete(v) {
			mu.Lock()
			defer mu.Unlock()
			for known.count() > 0 {
				id := known.latest()
				known.drop(id)
				if id != own {
					other := v.r.Clone(v.r.Context())
					other.Header.Set(sessionHeader, id)
					v.serveDiscarding(other)
				}
			}
			return
		}
		known.track(v, r)
	})
}

// legalLeaks returns the legal variations in what a server sends to all sessions.
func legalLeaks() []*Fault {
	return []*Fault{
		newVariationWithState("http-log-for-all", "the server sends log messages to all sessions now and then", func() *refserver.Seams {
			e := newListeningStreams()
			return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
				if !opensListeningStream(v) {
					return
				}
				session := v.r.Header.Get(sessionHeader)
				remove := e.add(session, r)
				go func() {
					defer remove()
					const report = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"the disk is full"}}`
					for sleep(v.r.Context(), 30*time.Millisecond) {
						e.write(session, []byte("event: message\ndata: "+report+"\n\n"))
					}
				}()
			})
		}),
	}
}
