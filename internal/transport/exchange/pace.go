package exchange

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	maxWait     = time.Minute    // limits one wait, and the sum of consecutive waits that don't help
	maxPause    = 24 * time.Hour // limits the pause that PauseEnd returns
	maxUseless  = 5              // limits the consecutive waits that don't help, if the server never served a request
	maxAttempts = 10             // limits the attempts to send one request
	firstPause  = 250 * time.Millisecond
)

// A refusal is a response that refuses a request because of a rate limit.
type refusal struct {
	status int
	after  string // the value of Retry-After, or ""
	wait   time.Duration
}

// refusalOf parses the head of a response as a refusal; ok is false if it is not one.
func refusalOf(status int, header func(name string) string, now time.Time) (r refusal, ok bool) {
	r = refusal{status: status, after: strings.TrimSpace(header("Retry-After"))}
	seconds, err := strconv.ParseUint(r.after, 10, 63)
	known := err == nil
	switch {
	case known:
		r.wait = time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second
	default:
		var at time.Time
		if at, err = http.ParseTime(r.after); err == nil {
			known = true
			if date, err := http.ParseTime(header("Date")); err == nil { // compare the date with the server's clock
				now = date
			}
			r.wait = max(0, at.Sub(now))
		}
	}
	return r, status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && known
}

func (r refusal) String() string {
	if r.after == "" {
		return strconv.Itoa(r.status) + " without Retry-After"
	}
	return fmt.Sprintf("%d, Retry-After: %s", r.status, wire.Excerpt(r.after, 40))
}

// backoff determines how long to wait, and when to give up.
type backoff struct {
	serves      bool          // the server has served a request
	helped      bool          // a request that was sent again after the last wait was served
	last        time.Duration // the last wait
	useless     int           // number of consecutive waits that did not help
	uselessTime time.Duration // the sum of these waits
}

// waitAfter returns how long to wait after a refusal: as long as the server demands or, if that is
// longer, a pause that doubles with each consecutive wait that did not help.
func (b *backoff) waitAfter(r refusal) time.Duration {
	return max(r.wait, min(firstPause<<b.useless, maxWait-b.uselessTime))
}

// begin begins a wait after a refusal, and returns its duration. ok is false if waiting does not
// help; the caller must then give up.
func (b *backoff) begin(r refusal) (wait time.Duration, ok bool) {
	if b.last > 0 && !b.helped {
		b.useless++
		b.uselessTime += b.last
	} else {
		b.useless, b.uselessTime = 0, 0
	}
	wait = b.waitAfter(r)
	b.helped, b.last = false, wait
	return wait, (b.serves || b.useless < maxUseless) && b.uselessTime < maxWait && b.uselessTime+wait <= maxWait
}

// pace is a rate of requests that stays below the server's limit. It is learned from refusals.
type pace struct {
	rate    float64       // requests a second; 0 while there is no limit
	ceiling float64       // a rate that was too high; 0 while none is known
	waited  time.Duration // the last wait, which suggests the period over which the server counts requests
	// learnRate resets the fields below at the end of each wait, except isTaught, which it sets.
	since         time.Time
	sent, refused int
	grown         int  // requests sent since the rate last changed
	isTaught      bool // learnRate has been called before
}

const (
	minRate = 1.0  // requests a second; a lower limit is kept by the waits that Retry-After demands
	margin  = 0.95 // factor for the estimated limit
	slower  = 0.8  // factor for a rate that was too high
	faster  = 1.1  // factor for a rate at which no request was refused for a while
	minSent = 10   // requests that must be sent before the rate is estimated or changed
)

// noteSent notes that a request is sent, and returns how long the next request must wait. It raises
// the rate if no request was refused for a while.
func (p *pace) noteSent(now time.Time) time.Duration {
	if p.since.IsZero() {
		p.since = now
	}
	p.sent++
	if p.rate == 0 {
		return 0
	}
	if p.grown++; float64(p.grown) >= max(minSent, 2*p.rate*p.waited.Seconds()) {
		p.grown = 0
		p.rate = max(p.rate, min(p.rate*faster, p.ceiling*margin))
		if p.ceiling == 0 {
			p.rate *= faster
		}
	}
	return time.Duration(float64(time.Second) / p.rate)
}

// noteRefusal notes that the request that was sent at the given time was refused.
func (p *pace) noteRefusal(sent time.Time) {
	if !sent.Before(p.since) {
		p.refused++
	}
}

// learnRate determines the rate after a wait that began and ended at the given times. It estimates
// the server's limit from the requests that were served since the end of the previous wait. After
// the first wait, it uses the estimate only if at least minSent requests were sent, because
// requests from before the run may have used up the limit, so the estimate may be too low.
func (p *pace) learnRate(began, end, now time.Time) {
	p.waited = max(firstPause, end.Sub(began))
	limit := margin * float64(max(1, p.sent-p.refused)) / max(end.Sub(p.since), firstPause).Seconds()
	switch {
	case p.rate > 0:
		if p.ceiling == 0 || p.rate < p.ceiling {
			p.ceiling = p.rate
		}
		p.rate = max(minRate, min(limit, slower*p.rate))
	case p.isTaught, p.sent >= minSent:
		p.rate = max(minRate, limit)
	}
	p.since, p.sent, p.refused, p.grown, p.isTaught = now, 0, 0, 0, true
}

// tally counts what the notice for the user reports.
type tally struct {
	longest  refusal // the refusal that demanded the longest wait; if several did, the first of them
	refusals int
	waits    int
	waited   time.Duration
	tooLong  bool // the server demanded a wait of more than maxWait
}

func (t *tally) noteRefused(r refusal) {
	if t.refusals++; t.refusals == 1 || r.wait > t.longest.wait {
		t.longest = r
	}
}

func (t *tally) notice(rate float64, gaveUp bool) string {
	if t.refusals == 0 {
		return ""
	}
	text := "the server limits requests (" + t.longest.String() + "): mcp-conform "
	switch {
	case gaveUp:
		return text + "waited " + t.describeWaits() + ", which did not help, and stopped waiting"
	case t.tooLong && t.waits == 0:
		return text + "waits at most " + describeSeconds(maxWait) + ", and sent no refused request again"
	case t.waits == 0:
		return ""
	}
	text += "waited " + t.describeWaits()
	if rate > 0 {
		text += ", and slowed down to " + describeRate(rate)
	}
	if t.tooLong {
		return text + "; it waits at most " + describeSeconds(maxWait) + " at a time"
	}
	return text + "; this is not counted as a failure"
}

func (t *tally) describeWaits() string {
	if t.waits == 1 {
		return "once, for " + describeSeconds(t.waited)
	}
	return fmt.Sprintf("%d times, %s in all", t.waits, describeSeconds(t.waited))
}

func describeSeconds(d time.Duration) string {
	if d < 10*time.Second {
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	}
	return strconv.Itoa(int(math.Round(d.Seconds()))) + " s"
}

func describeRate(rate float64) string {
	if rate < 2 {
		return fmt.Sprintf("%.0f requests a minute", max(1, math.Round(rate*60)))
	}
	return fmt.Sprintf("%.0f requests a second", rate)
}
