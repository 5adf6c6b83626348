package faults

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// ignoreUnknownEventIDs takes an event id that the session never had for none.
func ignoreUnknownEventIDs() refserver.Seams {
	var mu sync.Mutex
	known := map[string][]string{} // the sessions that had it, by the id
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		if isResume(v) {
			mu.Lock()
			of := slices.Clone(known[v.r.Header.Get(eventHeader)])
			mu.Unlock()
			if !slices.Contains(of, session) {
				v.r.Header.Del(eventHeader)
				return
			}
		}
		r.editBody = func(b []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			for line := range bytes.Lines(b) {
				if id, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "id: "); ok && r.isStream() {
					known[id] = append(known[id], session)
				}
			}
			return b
		}
	})
}

// resumeFromAnySession keeps the events of all sessions in one place: an id names the
// session, too, and nobody looks whether that is the one that asks.
func resumeFromAnySession() refserver.Seams {
	var mu sync.Mutex
	var sessions []string
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		number, id, ok := strings.Cut(v.r.Header.Get(eventHeader), "/")
		mu.Lock()
		if at, err := strconv.Atoi(number); isResume(v) && ok && err == nil && at < len(sessions) {
			session = sessions[at]
			v.r.Header.Set(eventHeader, id)
			v.setSession(session)
		}
		at := slices.Index(sessions, session)
		if at < 0 {
			at = len(sessions)
			sessions = append(sessions, session)
		}
		mu.Unlock()
		r.editBody = func(b []byte) []byte {
			if !r.isStream() {
				return b
			}
			return bytes.ReplaceAll(b, []byte("id: "), []byte("id: "+strconv.Itoa(at)+"/"))
		}
	})
}

// resumesCall reports whether a GET goes on with the stream of a POST: 0 is the
// number of that which a session listens on.
func resumesCall(v *exchange) bool {
	return isResume(v) && !strings.HasPrefix(v.r.Header.Get(eventHeader), "0-")
}

// closeAfterFirstEvent closes the connection behind the first message of a stream
// that goes on; what follows is kept for the next one.
func closeAfterFirstEvent(v *exchange, r *responseEditor) {
	ctx, cancel := context.WithCancel(v.r.Context())
	v.r = v.r.WithContext(ctx)
	closed := false
	r.editBody = func(b []byte) []byte {
		if closed {
			return nil
		}
		if !r.isStream() || eventData(b) == nil {
			return b
		}
		if closed = !eventHasResponse(b); closed {
			cancel()
		}
		return b
	}
}

// endListeningStreams ends the streams that sessions listen on for good, each after a
// while: an event id of one that is over is taken for none, and what the server
// has to say waits for the next one.
func endListeningStreams() refserver.Seams {
	const mark = "listening-"
	var opened atomic.Int64
	return editResponses(func(v *exchange) bool {
		return opensListeningStream(v) || isResume(v) && strings.HasPrefix(v.r.Header.Get(eventHeader), mark)
	}, func(v *exchange, r *responseEditor) {
		ctx, cancel := context.WithTimeout(v.r.Context(), 150*time.Millisecond)
		context.AfterFunc(ctx, cancel)
		v.r = v.r.WithContext(ctx)
		v.r.Header.Del(eventHeader)
		own := fmt.Appendf(nil, "id: %s%d-", mark, opened.Add(1))
		r.editBody = func(b []byte) []byte {
			if !r.isStream() {
				return b
			}
			return bytes.Replace(b, []byte("id: "), own, 1)
		}
	})
}
