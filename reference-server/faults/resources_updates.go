package faults

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// updateFaults are those in what a server tells of changes over the life of
// subscriptions.
func updateFaults() []Fault {
	unreported := func(name, title string, forgets func(l *lives, what, uri string)) Fault {
		return breaksAfresh("resources.subscribe.update-sent/"+name, title, func() refserver.Seams {
			return together(harmless("update-resource"), subscriptionLives(forgets, func(l *lives, o *refserver.Out, uri string) {
				if !l.on[uri] {
					o.Frames = nil
				}
				forgets(l, spec.MethodResourcesUpdated, uri)
			}))
		})
	}
	ended := func(by string) func(l *lives, what, uri string) {
		return func(l *lives, what, _ string) {
			if what == by {
				clear(l.on)
			}
		}
	}
	return []Fault{
		unreported("once", "of a resource that is subscribed to only the first change is told", ended(spec.MethodResourcesUpdated)),
		unreported("ended-by-another", "the end of a subscription ends all others", ended(spec.MethodResourcesUnsubscribe)),
		unreported("ended-by-a-refusal", "an error that is answered to anything ends all subscriptions", ended(refused)),
		unreported("ended-by-a-cancellation", "a cancellation of anything ends all subscriptions", ended(spec.MethodCancelled)),
		unreported("not-again", "what was subscribed to before is confirmed again, and its changes are not told", func(l *lives, what, uri string) {
			l.on[uri] = l.on[uri] && !l.ended[uri]
			l.ended[uri] = l.ended[uri] || what == spec.MethodResourcesUnsubscribe
		}),
		unreported("switched", "a second subscription to a resource switches the first one off", func(l *lives, what, uri string) {
			switch what {
			case spec.MethodResourcesSubscribe, spec.MethodResourcesUnsubscribe:
				l.twice[uri] = what == spec.MethodResourcesSubscribe && !l.twice[uri]
				l.on[uri] = l.twice[uri]
			}
		}),
		breaksAfresh("resources.subscribe.update-sent/one-at-a-time", "each subscription ends the one before", func() refserver.Seams {
			return together(harmless("update-resource"), lastSubscription())
		}),
		breaksAfresh("resources.subscribe.no-update-without-subscription/other-stream", "a subscription counts for all streams", func() refserver.Seams {
			return together(harmless("update-resource"), forAll(asking(spec.MethodResourcesSubscribe)))
		}).in(spec.V20241105).over(spec.SSE),
		breaksAfresh("resources.subscribe.no-update-without-subscription/other-session", "a subscription counts for all sessions", func() refserver.Seams {
			return together(harmless("update-resource"), forAll(asking(spec.MethodResourcesSubscribe)))
		}).over(spec.StreamableHTTP),
		breaksAfresh("resources.subscribe.no-update-without-subscription/first-listener", "updates go to the client that listened first, besides the subscriber", func() refserver.Seams {
			return together(harmless("update-resource"), copiedTo(firstOf, wire.Notification, spec.MethodResourcesUpdated))
		}).over(spec.StreamableHTTP),
	}
}

// legalNotices are the legal variations in when changes are announced.
func legalNotices() []Fault {
	// A debounce of so long is common with who watches files.
	const gathering = 600 * time.Millisecond
	return []Fault{
		legalAfresh("updates-late", "an update comes a while after the change, if the subscription is still there", func() refserver.Seams {
			return together(harmless("update-resource"), subscriptionLives(nil, func(l *lives, o *refserver.Out, uri string) {
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
			}))
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

// refused stands for an error that is answered, to whatever request.
const refused = "error"

// subscriptionLives follows what is subscribed to in each session. Happens, which
// may be nil, is called with the method of what may end a subscription, or with
// refused; told with each update. Both have the URI that it is about, if any.
func subscriptionLives(happens func(l *lives, what, uri string), told func(l *lives, o *refserver.Out, uri string)) refserver.Seams {
	var mu sync.Mutex
	all := map[*refserver.Session]*lives{}
	with := func(s *refserver.Session, do func(l *lives)) {
		mu.Lock()
		l := all[s]
		if l == nil {
			l = &lives{on: map[string]bool{}, ended: map[string]bool{}, twice: map[string]bool{}}
			all[s] = l
		}
		mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		do(l)
	}
	happen := func(s *refserver.Session, what, uri string) {
		with(s, func(l *lives) {
			if what == spec.MethodResourcesSubscribe || what == spec.MethodResourcesUnsubscribe {
				l.on[uri] = what == spec.MethodResourcesSubscribe
			}
			if happens != nil {
				happens(l, what, uri)
			}
		})
	}
	follow := func(method string) refserver.Seams {
		return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			uri, _ := wire.Text(wire.At(c.Params, "/uri"))
			happen(c.Session, method, uri)
			return next(c)
		})
	}
	return together(
		follow(spec.MethodResourcesSubscribe), follow(spec.MethodResourcesUnsubscribe),
		Outgoing(Errors(), func(o *refserver.Out) { happen(o.Session, refused, "") }),
		notified(method(spec.MethodCancelled), func(n *refserver.Notification) { happen(n.Session, spec.MethodCancelled, "") }),
		Outgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) {
			uri, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/uri"))
			with(o.Session, func(l *lives) { told(l, o, uri) })
		}))
}
