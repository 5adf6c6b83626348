package faults

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// updateFaults returns the faults in the notifications of subscriptions.
func updateFaults() []*Fault {
	unreported := func(name, title string, forgets func(l *subscriptions, what, uri string)) *Fault {
		return newFaultWithState("resources.subscribe.update-sent/"+name, title, func() *refserver.Seams {
			return combineSeams(markReadOnly("update-resource"), trackSubscriptions(forgets, func(l *subscriptions, o *refserver.Out, uri string) {
				if !l.on[uri] {
					o.Frames = nil
				}
				forgets(l, spec.MethodResourcesUpdated, uri)
			}))
		})
	}
	ended := func(by string) func(l *subscriptions, what, uri string) {
		return func(l *subscriptions, what, _ string) {
			if what == by {
				clear(l.on)
			}
		}
	}
	return []*Fault{
		unreported("once", "only the first change of a subscribed resource is notified", ended(spec.MethodResourcesUpdated)),
		unreported("ended-by-another", "one resources/unsubscribe ends all subscriptions", ended(spec.MethodResourcesUnsubscribe)),
		unreported("ended-by-a-refusal", "any error response ends all subscriptions", ended(refused)),
		unreported("ended-by-a-cancellation", "any cancellation ends all subscriptions", ended(spec.MethodCancelled)),
		unreported("not-again", "after resources/unsubscribe, a new resources/subscribe succeeds but has no effect", func(l *subscriptions, what, uri string) {
			l.on[uri] = l.on[uri] && !l.ended[uri]
			l.ended[uri] = l.ended[uri] || what == spec.MethodResourcesUnsubscribe
		}),
		unreported("switched", "a second subscription to a resource cancels the first", func(l *subscriptions, what, uri string) {
			switch what {
			case spec.MethodResourcesSubscribe, spec.MethodResourcesUnsubscribe:
				l.twice[uri] = what == spec.MethodResourcesSubscribe && !l.twice[uri]
				l.on[uri] = l.twice[uri]
			}
		}),
		newFaultWithState("resources.subscribe.update-sent/one-at-a-time", "each subscription ends the previous one", func() *refserver.Seams {
			return combineSeams(markReadOnly("update-resource"), keepLastSubscription())
		}),
		newFaultWithState("resources.subscribe.no-update-without-subscription/other-stream", "a subscription applies to all streams", func() *refserver.Seams {
			return combineSeams(markReadOnly("update-resource"), applyToAllSessions(hasRequestOf(spec.MethodResourcesSubscribe)))
		}).inRevisions(spec.V20241105).overTransports(spec.SSE),
		newFaultWithState("resources.subscribe.no-update-without-subscription/other-session", "a subscription applies to all sessions", func() *refserver.Seams {
			return combineSeams(markReadOnly("update-resource"), applyToAllSessions(hasRequestOf(spec.MethodResourcesSubscribe)))
		}).overTransports(spec.StreamableHTTP),
		newFaultWithState("resources.subscribe.no-update-without-subscription/first-listener", "updates are also sent to the client that listened first", func() *refserver.Seams {
			return combineSeams(markReadOnly("update-resource"), copyToListeningStreams(firstStream, wire.Notification, spec.MethodResourcesUpdated))
		}).overTransports(spec.StreamableHTTP),
	}
}

// legalChangeNotifications returns the legal variations in the time at which the server announces
// changes.
func legalChangeNotifications() []*Fault {
	// Servers that watch files often debounce for this long.
	const gathering = 600 * time.Millisecond
	return []*Fault{
		newVariationWithState("updates-late", "an update is sent some time after the change, if the subscription still exists", func() *refserver.Seams {
			return combineSeams(markReadOnly("update-resource"), trackSubscriptions(nil, func(l *subscriptions, o *refserver.Out, uri string) {
				frames := o.Frames
				o.Frames = nil
				o.Session.Go(func(ctx context.Context) {
					if !sleep(ctx, gathering) {
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
		newVariation("lists-told-late", "list_changed is sent some time after the change", combineSeams(markReadOnly("trigger-list-changed"),
			EditOutgoing(func(o *refserver.Out) bool {
				return o.Kind == refserver.OutNotification && (o.Method == spec.MethodResourcesChanged || o.Method == spec.MethodToolsChanged || o.Method == spec.MethodPromptsChanged)
			}, func(o *refserver.Out) {
				sendLater(o.Session, gathering, o.Frames...)
				o.Frames = nil
			}))),
	}
}

// subscriptions records the subscriptions of a session, by URI. Each fault decides what it records
// in the fields ended and twice.
type subscriptions struct {
	mu           sync.Mutex
	on           map[string]bool // whether the session gets updates of the URI
	ended, twice map[string]bool
}

// refused is the value that trackSubscriptions passes to onChange when the server sends an
// error response to any request.
const refused = "error"

// trackSubscriptions records the subscriptions of each session. It calls onChange, which may be
// nil, with the method of each message that may change a subscription, or with refused for an error
// response. It calls onUpdate for each update. Both functions get the URI of the message, or "" if
// the message has no URI.
func trackSubscriptions(onChange func(l *subscriptions, what, uri string), onUpdate func(l *subscriptions, o *refserver.Out, uri string)) *refserver.Seams {
	var mu sync.Mutex
	all := map[*refserver.Session]*subscriptions{}
	with := func(s *refserver.Session, do func(l *subscriptions)) {
		mu.Lock()
		l := all[s]
		if l == nil {
			l = &subscriptions{on: map[string]bool{}, ended: map[string]bool{}, twice: map[string]bool{}}
			all[s] = l
		}
		mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		do(l)
	}
	happen := func(s *refserver.Session, what, uri string) {
		with(s, func(l *subscriptions) {
			if what == spec.MethodResourcesSubscribe || what == spec.MethodResourcesUnsubscribe {
				l.on[uri] = what == spec.MethodResourcesSubscribe
			}
			if onChange != nil {
				onChange(l, what, uri)
			}
		})
	}
	follow := func(method string) *refserver.Seams {
		return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			uri, _ := wire.Text(wire.At(c.Params, "/uri"))
			happen(c.Session, method, uri)
			return next(c)
		})
	}
	return combineSeams(
		follow(spec.MethodResourcesSubscribe), follow(spec.MethodResourcesUnsubscribe),
		EditOutgoing(Errors(), func(o *refserver.Out) { happen(o.Session, refused, "") }),
		afterNotification(hasMethod(spec.MethodCancelled), func(n *refserver.Notification) { happen(n.Session, spec.MethodCancelled, "") }),
		EditOutgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) {
			uri, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/uri"))
			with(o.Session, func(l *subscriptions) { onUpdate(l, o, uri) })
		}))
}
