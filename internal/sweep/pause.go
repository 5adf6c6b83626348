package sweep

import (
	"fmt"
	"strings"
	"time"
)

// maxPause limits the sum of consecutive pauses after each of which a host demands another one.
const maxPause = 10 * time.Minute

// A hostPause is the pause that a host demands.
type hostPause struct {
	end time.Time
	sum time.Duration // of consecutive pauses
}

// hostPauses maps each host that demands a pause to the pause. It has no entry for the host "".
type hostPauses map[string]hostPause

// next returns a channel that delivers a value when the first of the pauses that delay pending
// entries ends. It returns nil if no entry is delayed.
func (p hostPauses) next(pending []*Entry, now time.Time) <-chan time.Time {
	first := time.Duration(0)
	for _, e := range pending {
		if wait := p[e.host()].end.Sub(now); wait > 0 && (first == 0 || wait < first) {
			first = wait
		}
	}
	if first == 0 {
		return nil
	}
	return time.After(first)
}

// notePause notes the pause that the host of a server demands after its run. It limits a pause to
// maxPause. If the host demands another pause after pauses of maxPause in total, notePause returns
// the pending entries of the host as refused, and the other entries.
func (s *supervisor) notePause(pauses hostPauses, end finishedServer, pending []*Entry) (refused, others []*Entry) {
	host := end.entry.host()
	wait := min(time.Until(end.result.paused), maxPause)
	if host == "" || wait <= 0 {
		delete(pauses, host)
		return nil, pending
	}
	for _, e := range pending {
		if e.host() == host {
			refused = append(refused, e)
		} else {
			others = append(others, e)
		}
	}
	if len(refused) == 0 || pauses[host].sum >= maxPause {
		return refused, others
	}
	pauses[host] = hostPause{time.Now().Add(wait), pauses[host].sum + wait}
	if s.Paused != nil {
		s.Paused(host, wait)
	}
	return nil, pending
}

// unjudgedResult returns the result of a server whose host demands too long a pause.
func unjudgedResult(e *Entry) *Result {
	return &Result{
		Name: e.Name, Folder: e.Folder, Asked: e.asked, Package: e.Package, Published: e.Version, Outcome: Unreachable,
		Problem: fmt.Sprintf("no request was sent: %s limits requests, and pauses of %s did not help its other servers", e.host(), strings.TrimSuffix(maxPause.String(), "0s")),
	}
}
