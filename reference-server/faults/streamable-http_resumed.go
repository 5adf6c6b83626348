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

// strangeIDsListen takes an event id that the session never had for none.
func strangeIDsListen() refserver.Seams {
	var mu sync.Mutex
	known := map[string][]string{} // the sessions that had it, by the id
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		if resumes(v) {
			mu.Lock()
			of := slices.Clone(known[v.r.Header.Get(eventHeader)])
			mu.Unlock()
			if !slices.Contains(of, session) {
				v.r.Header.Del(eventHeader)
				return
			}
		}
		r.edit = func(b []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			for line := range bytes.Lines(b) {
				if id, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "id: "); ok && r.streams() {
					known[id] = append(known[id], session)
				}
			}
			return b
		}
	})
}

// resumedAnywhere keeps the events of all sessions in one place: an id names the
// session, too, and nobody looks whether that is the one that asks.
func resumedAnywhere() refserver.Seams {
	var mu sync.Mutex
	var sessions []string
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		number, id, ok := strings.Cut(v.r.Header.Get(eventHeader), "/")
		mu.Lock()
		if at, err := strconv.Atoi(number); resumes(v) && ok && err == nil && at < len(sessions) {
			session = sessions[at]
			v.r.Header.Set(eventHeader, id)
			v.as(session)
		}
		at := slices.Index(sessions, session)
		if at < 0 {
			at = len(sessions)
			sessions = append(sessions, session)
		}
		mu.Unlock()
		r.edit = func(b []byte) []byte {
			if !r.streams() {
				return b
			}
			return bytes.ReplaceAll(b, []byte("id: "), []byte("id: "+strconv.Itoa(at)+"/"))
		}
	})
}

// resumesCall reports whether a GET goes on with the stream of a POST: 0 is the
// number of that which a session listens on.
func resumesCall(v *visit) bool {
	return resumes(v) && !strings.HasPrefix(v.r.Header.Get(eventHeader), "0-")
}

// closesBehindFirst closes the connection behind the first message of a stream
// that goes on; what follows is kept for the next one.
func closesBehindFirst(v *visit, r *reply) {
	ctx, cancel := context.WithCancel(v.r.Context())
	v.r = v.r.WithContext(ctx)
	closed := false
	r.edit = func(b []byte) []byte {
		if closed {
			return nil
		}
		if !r.streams() || data(b) == nil {
			return b
		}
		if closed = !bringsResponse(b); closed {
			cancel()
		}
		return b
	}
}

// listeningEnds ends the streams that sessions listen on for good, each after a
// while: an event id of one that is over is taken for none, and what the server
// has to say waits for the next one.
func listeningEnds() refserver.Seams {
	const mark = "listening-"
	var opened atomic.Int64
	return alters(func(v *visit) bool {
		return listens(v) || resumes(v) && strings.HasPrefix(v.r.Header.Get(eventHeader), mark)
	}, func(v *visit, r *reply) {
		ctx, cancel := context.WithTimeout(v.r.Context(), 150*time.Millisecond)
		context.AfterFunc(ctx, cancel)
		v.r = v.r.WithContext(ctx)
		v.r.Header.Del(eventHeader)
		own := fmt.Appendf(nil, "id: %s%d-", mark, opened.Add(1))
		r.edit = func(b []byte) []byte {
			if !r.streams() {
				return b
			}
			return bytes.Replace(b, []byte("id: "), own, 1)
		}
	})
}
