package faults

import (
	"context"
	"sync"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// updateFaults are those in what a server tells of changes over the life of
// subscriptions.
func updateFaults() []Fault {
	untold := func(name, title string, forgets func(l *lives, method, uri string)) Fault {
		return breaksAfresh("resources.subscribe.update-sent/"+name, title, func() refserver.Seams {
			seams, of := subscriptionLives(func(l *lives, method, uri string) {
				l.on[uri] = method == spec.MethodResourcesSubscribe
				if forgets != nil {
					forgets(l, method, uri)
				}
			}, func(l *lives, o *refserver.Out, uri string) {
				if !l.on[uri] {
					o.Frames = nil
				}
				if name == "once" {
					l.on[uri] = false
				}
			})
			switch name {
			case "ended-by-a-refusal":
				return together(harmless("update-resource"), seams, Outgoing(Errors(), func(o *refserver.Out) { of(o.Session).end() }))
			case "ended-by-a-cancellation":
				return together(harmless("update-resource"), seams, notified(method(spec.MethodCancelled), func(n *refserver.Note) { of(n.Session).end() }))
			}
			return together(harmless("update-resource"), seams)
		})
	}
	return []Fault{
		untold("once", "of a resource that is subscribed to only the first change is told", nil),
		untold("ended-by-another", "the end of a subscription ends all others", func(l *lives, method, _ string) {
			if method == spec.MethodResourcesUnsubscribe {
				clear(l.on)
			}
		}),
		untold("ended-by-a-refusal", "an error that is answered to anything ends all subscriptions", nil),
		untold("ended-by-a-cancellation", "a cancellation of anything ends all subscriptions", nil),
		untold("not-again", "what was subscribed to before is confirmed again, and its changes are not told", func(l *lives, method, uri string) {
			l.on[uri] = l.on[uri] && !l.ended[uri]
			l.ended[uri] = l.ended[uri] || method == spec.MethodResourcesUnsubscribe
		}),
		untold("switched", "a second subscription to a resource switches the first one off", func(l *lives, method, uri string) {
			l.twice[uri] = method == spec.MethodResourcesSubscribe && !l.twice[uri]
			l.on[uri] = l.twice[uri]
		}),
	}
}

// legalNotices are the legal variations in when changes are told.
func legalNotices() []Fault {
	// A debounce of so long is common with who watches files.
	const gathering = 600 * time.Millisecond
	return []Fault{
		legalAfresh("updates-late", "an update comes a while after the change, if the subscription is still there", func() refserver.Seams {
			seams, _ := subscriptionLives(func(l *lives, method, uri string) {
				l.on[uri] = method == spec.MethodResourcesSubscribe
			}, func(l *lives, o *refserver.Out, uri string) {
				frames := o.Frames
				o.Frames = nil
				o.Session.Go(func(ctx context.Context) {
					if !pause(ctx, gathering) {
						return
					}
					l.mu.Lock()
					defer l.mu.Unlock()
					for _, frame := range frames {
						if l.on[uri] {
							o.Session.SendRaw(frame)
						}
					}
				})
			})
			return together(harmless("update-resource"), seams)
		}),
		legal("lists-told-late", "that a list has changed is told a while after it", together(harmless("trigger-list-changed"),
			Outgoing(func(o *refserver.Out) bool {
				return o.Kind == refserver.OutNotification && (o.Method == spec.MethodResourcesChanged || o.Method == spec.MethodToolsChanged || o.Method == spec.MethodPromptsChanged)
			}, func(o *refserver.Out) {
				later(o.Session, gathering, o.Frames...)
				o.Frames = nil
			}))),
	}
}

// lives are the subscriptions of a session, by URI.
type lives struct {
	mu               sync.Mutex
	on, ended, twice map[string]bool
}

// end ends all subscriptions.
func (l *lives) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.on)
}

// subscriptionLives follows what is subscribed to in each session; told is called
// with each update, by the URI of its resource.
func subscriptionLives(asked func(l *lives, method, uri string), told func(l *lives, o *refserver.Out, uri string)) (seams refserver.Seams, of func(*refserver.Session) *lives) {
	var mu sync.Mutex
	all := map[*refserver.Session]*lives{}
	of = func(s *refserver.Session) *lives {
		mu.Lock()
		defer mu.Unlock()
		if all[s] == nil {
			all[s] = &lives{on: map[string]bool{}, ended: map[string]bool{}, twice: map[string]bool{}}
		}
		return all[s]
	}
	follow := func(method string) refserver.Seams {
		return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			l := of(c.Session)
			uri, _ := wire.Text(wire.At(c.Params, "/uri"))
			l.mu.Lock()
			asked(l, method, uri)
			l.mu.Unlock()
			return next(c)
		})
	}
	return together(follow(spec.MethodResourcesSubscribe), follow(spec.MethodResourcesUnsubscribe),
		Outgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) {
			l := of(o.Session)
			uri, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/uri"))
			l.mu.Lock()
			defer l.mu.Unlock()
			told(l, o, uri)
		})), of
}
