package reporters

import (
	"fmt"
	"strings"
	"time"
)

// An outlook is what a run knows about its remaining time.
type outlook struct {
	began  time.Time     // when the first case started
	left   time.Duration // 0 if it is unknown
	why    string        // why the run is slow, or ""
	shown  time.Duration // how long the run had taken when the last line about the remaining time was written
	helped bool          // advice that would make the run faster was shown
}

const (
	// firstLine is how long a run takes before a line about its remaining time is written. On a
	// terminal, the status line shows the remaining time, and the line only says what would make
	// the run faster.
	firstLine = 15 * time.Second
	// lineFactor determines when the next line is written: when the run has taken lineFactor times
	// as long as it had at the last line. A long run therefore writes few lines.
	lineFactor = 2
)

// Remaining shows how long the run still takes (unless left is 0), why it is slow, and what would
// make the next run faster. why and faster may be empty. A terminal shows this on the status line,
// and other outputs get a line from time to time.
func (c *Console) Remaining(left time.Duration, why, faster string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outlook.left, c.outlook.why = left, why
	passed := c.now().Sub(c.outlook.began)
	switch {
	case c.o.Quiet || c.o.StatusOnly || passed < max(firstLine, lineFactor*c.outlook.shown):
	case c.o.Live:
		if faster != "" && !c.outlook.helped {
			c.writeNotice("this run is slow; faster: " + faster)
			c.outlook.helped = true
		}
	case len(c.progress()) > 0:
		c.outlook.shown = passed
		line := fmt.Sprintf("after %.0f s: ", passed.Seconds()) + strings.Join(c.progress(), ", ")
		if faster != "" && !c.outlook.helped {
			line += "; faster: " + faster
			c.outlook.helped = true
		}
		c.writeNotice(line)
	}
	c.showStatus()
}

// timeTexts returns what the status line says about the time.
func (o *outlook) timeTexts() []string {
	var out []string
	if o.left > 0 {
		out = append(out, roughDuration(o.left)+" left")
	}
	if o.why != "" {
		out = append(out, Visible(o.why))
	}
	return out
}

// roughDuration returns a duration in words, no more exact than an estimate can be.
func roughDuration(d time.Duration) string {
	switch seconds := d.Seconds(); {
	case seconds < 8:
		return "a few seconds"
	case seconds < 45:
		return fmt.Sprintf("about %d s", (int(seconds)+5)/10*10)
	case seconds < 90:
		return "about a minute"
	case seconds < 600:
		return fmt.Sprintf("about %d minutes", (int(seconds)+30)/60)
	default:
		return fmt.Sprintf("about %d minutes", (int(seconds)+150)/300*5)
	}
}
