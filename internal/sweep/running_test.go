package sweep

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRunningServersAreReported checks when a sweep reports the servers that it is judging, and
// which were being judged when it was interrupted.
func TestRunningServersAreReported(t *testing.T) {
	t.Parallel()
	o := stubOptions(t, "a", "b", "c")
	o.Jobs = 2
	takes := map[string]time.Duration{"a": 10 * time.Second, "b": time.Hour, "c": 20 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var got []string
		report := func(format string, args ...any) {
			got = append(got, fmt.Sprintf("%v ", time.Since(began))+fmt.Sprintf(format, args...))
		}
		o.Done = func(r *Result, _ Progress) { report("%s ends", r.Name) }
		o.Waiting = func(running []Running) { report("%v", running) }
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
		defer cancel()
		s := &supervisor{Options: o}
		s.judgeServer = func(ctx context.Context, e *Entry) (*Result, error) {
			select {
			case <-time.After(takes[e.Name]):
				return &Result{Name: e.Name, Folder: e.Folder, Asked: e.asked, Outcome: Kept}, nil
			case <-ctx.Done():
				<-time.After(75 * time.Second) // its processes end: the next report would be now
				return nil, nil
			}
		}
		w, err := s.run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"10s a ends", "25s [{b 25s} {c 15s}]", "30s c ends", "45s [{b 45s}]", "1m0s [{b 1m0s}]", "1m30s [{b 1m30s}]", "2m30s [{b 2m30s}]"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]Running{{"b", 275 * time.Second}}, w.Interrupted); diff != "" {
			t.Errorf("interrupted (-want +got):\n%s", diff)
		}
	})
}
