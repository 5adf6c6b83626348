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

// ignoreUnknownEventIDs ignores a Last-Event-ID that the session never received.
func ignoreUnknownEventIDs() *refserver.Seams {
	var mu sync.Mutex
	known := map[string][]string{} // the sessions that received an event, by event id
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

// resumeFromAnySession adds the number of the session to each event id. It resumes the stream of
// the session that Last-Event-ID names, without checking that the client owns this session.
func resumeFromAnySession() *refserver.Seams {
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

// resumesCall reports whether a GET resumes the stream of a POST. Stream number 0 is
// the listening stream.
func resumesCall(v *exchange) bool {
	return isResume(v) && !strings.HasPrefix(v.r.Header.Get(eventHeader), "0-")
}

// closeAfterFirstEvent closes the connection after the first message of a stream, unless that
// message is the response. The client gets the rest when it resumes the stream.
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

// endListeningStreams ends each listening stream after a while. Clients can't resume such a stream,
// because the server ignores its event ids and sends later messages on the next stream.
func endListeningStreams() *refserver.Seams {
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
