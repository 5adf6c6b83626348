package sweep

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPauseOfAHost checks when the servers of a host begin after it has demanded a pause, and that
// another host does not wait.
func TestPauseOfAHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pauses map[string]time.Duration // demanded at the end of the run of each server
		want   map[string]string        // when each server is judged
		others Outcome                  // of the servers that are not judged
	}{
		"none":              {nil, map[string]string{"a1": "0s", "a2": "1m0s", "a3": "2m0s", "a4": "3m0s", "b": "0s"}, ""},
		"one":               {map[string]time.Duration{"a1": 5 * time.Minute}, map[string]string{"a1": "0s", "a2": "6m0s", "a3": "7m0s", "a4": "8m0s", "b": "0s"}, ""},
		"two that help":     {map[string]time.Duration{"a1": 9 * time.Minute, "a3": 9 * time.Minute}, map[string]string{"a1": "0s", "a2": "10m0s", "a3": "11m0s", "a4": "21m0s", "b": "0s"}, ""},
		"two that do not":   {map[string]time.Duration{"a1": 6 * time.Minute, "a2": 4 * time.Minute, "a3": time.Minute}, map[string]string{"a1": "0s", "a2": "7m0s", "a3": "12m0s", "b": "0s"}, Unreachable},
		"long, without use": {map[string]time.Duration{"a1": 24 * time.Hour, "a2": 24 * time.Hour}, map[string]string{"a1": "0s", "a2": "11m0s", "b": "0s"}, Unreachable},
		"long, once":        {map[string]time.Duration{"a1": 24 * time.Hour}, map[string]string{"a1": "0s", "a2": "11m0s", "a3": "12m0s", "a4": "13m0s", "b": "0s"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := stubOptions(t)
			for _, name := range []string{"a1", "a2", "a3", "a4", "b"} {
				o.Whole = append(o.Whole, Entry{Name: name, Folder: name, URL: fmt.Sprintf("https://%s.example/%s", name[:1], name)})
			}
			var announced []string
			o.Paused = func(host string, wait time.Duration) { announced = append(announced, fmt.Sprint(host, " ", wait)) }
			synctest.Test(t, func(t *testing.T) {
				began, judged := time.Now(), make(chan [2]string, len(o.Whole))
				s := &supervisor{Options: o}
				s.judgeServer = func(_ context.Context, e *Entry) (*Result, error) {
					judged <- [2]string{e.Name, time.Since(began).String()}
					time.Sleep(time.Minute)
					return &Result{Name: e.Name, Folder: e.Folder, Asked: e.asked, Outcome: Kept, paused: time.Now().Add(c.pauses[e.Name])}, nil
				}
				w, err := s.run(t.Context())
				if err != nil || w.Unfinished != 0 {
					t.Fatal(w.Unfinished, err)
				}
				close(judged)
				got := map[string]string{}
				for one := range judged {
					got[one[0]] = one[1]
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("judged (-want +got):\n%s", diff)
				}
				for _, r := range w.Servers {
					if got[r.Name] == "" && (r.Outcome != c.others || !strings.HasPrefix(r.Problem, "no request was sent: a.example limits requests, and pauses of 10m ")) {
						t.Errorf("%s: %s, %s", r.Name, r.Outcome, r.Problem)
					}
				}
				if c.pauses != nil && len(announced) == 0 {
					t.Error("no pause was announced")
				}
			})
		})
	}
}

// TestInterruptedPause checks that a sweep that waits for a host can be interrupted.
func TestInterruptedPause(t *testing.T) {
	t.Parallel()
	o := stubOptions(t)
	for _, name := range []string{"a1", "a2"} {
		o.Whole = append(o.Whole, Entry{Name: name, Folder: name, URL: "https://a.example/" + name})
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &supervisor{Options: o}
	s.Paused = func(string, time.Duration) { cancel() }
	s.judgeServer = func(_ context.Context, e *Entry) (*Result, error) {
		return &Result{Name: e.Name, Folder: e.Folder, Asked: e.asked, Outcome: Kept, paused: time.Now().Add(time.Hour)}, nil
	}
	w, err := s.run(ctx)
	if err != nil || w.Unfinished != 1 {
		t.Fatal(w, err)
	}
	if diff := cmp.Diff(map[string]Outcome{"a1": Kept, "a2": Pending}, outcomesOf(w)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
