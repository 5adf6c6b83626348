package refserver

import (
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// In the stateless era a client learns of changes through subscriptions/listen. The server sends
// notifications that belong to this request (basic/patterns/subscriptions), until the client
// cancels the request or the server shuts down.

// A subscription is a subscriptions/listen request in progress.
type subscription struct {
	call  *Call
	lists map[string]bool // the requested ones of "tools", "resources" and "prompts"
	uris  []string        // of the requested resources
}

// filterMembers maps each member of the filter to the list that it selects.
var filterMembers = map[string]string{
	"toolsListChanged":     "tools",
	"resourcesListChanged": "resources",
	"promptsListChanged":   "prompts",
}

const filterURIs = "resourceSubscriptions"

// subscribers are the subscriptions of an offer. The lock is held while a notification is sent, so
// that the notifications of a subscription come after its acknowledgement and before its end.
type subscribers struct {
	mu  sync.Mutex
	all []*subscription
}

// listen handles subscriptions/listen. It returns an error at once if the params are invalid or the
// server is shutting down. Otherwise it returns when the client cancels the request, the session
// ends or the server shuts down. Only a shutdown leads to a result.
func (c *Call) listen() (any, *Error) {
	u, err := c.requestedSubscription()
	if err != nil {
		return nil, err
	}
	s := c.Session
	if !s.tryAddSubscription() {
		return nil, &Error{Code: spec.CodeInternal, Message: shuttingDown}
	}
	c.afterResponse = s.listening.Done
	subscribers := &c.offer().subscribers
	subscribers.add(u)
	select {
	case <-c.ctx.Done():
		subscribers.remove(u)
		return nil, NoResponse
	case <-s.ending:
	}
	subscribers.remove(u)
	// The specification requires the result over every transport, but this notification only over
	// stdio, where the client can't tell from the end of a stream that the subscription has ended.
	if c.Header == nil {
		u.notify(spec.MethodCancelled, object{"requestId": jsontext.Value(c.ID.Raw()), "reason": shuttingDown})
	}
	return object{"_meta": u.meta()}, nil
}

// requestedSubscription returns the subscription that the params describe. It leaves
// out resources that do not exist, and repeated ones.
func (c *Call) requestedSubscription() (*subscription, *Error) {
	f := c.fields()
	filter, err := f.optionalObject("notifications")
	if err != nil || filter == nil {
		return nil, invalidParams("notifications must be an object")
	}
	u := &subscription{call: c, lists: map[string]bool{}}
	for member, list := range filterMembers {
		v, given := filter[member]
		if given && !isBoolean(v) {
			return nil, invalidParams("notifications.%s must be true or false", member)
		}
		if given && v.Kind() == 't' {
			u.lists[list] = true
		}
	}
	uris, given := filter[filterURIs]
	if given && uris.Kind() != '[' {
		return nil, invalidParams("notifications.%s must be an array", filterURIs)
	}
	for _, v := range wire.Elements(uris) {
		uri, ok := wire.Text(v)
		switch {
		case !ok:
			return nil, invalidParams("notifications.%s must be an array of strings", filterURIs)
		case c.findResource(uri) != nil && !slices.Contains(u.uris, uri):
			u.uris = append(u.uris, uri)
		}
	}
	return u, nil
}

// granted returns the filter as the server acknowledges it.
func (u *subscription) granted() object {
	o := object{}
	for member, list := range filterMembers {
		if u.lists[list] {
			o[member] = true
		}
	}
	if u.uris != nil {
		o[filterURIs] = u.uris
	}
	return o
}

// meta returns the _meta member of the subscription's messages.
func (u *subscription) meta() object {
	return object{metaSubscriptionID: jsontext.Value(u.call.ID.Raw())}
}

// notify sends a notification of the subscription. It does not modify params.
func (u *subscription) notify(method string, params object) {
	o := object{"_meta": u.meta()}
	maps.Copy(o, params)
	u.call.Notify(method, o)
}

// add adds a subscription and acknowledges it.
func (s *subscribers) add(u *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, u)
	u.notify(spec.MethodAcknowledged, object{"notifications": u.granted()})
}

// remove removes a subscription. After remove returns, nothing is published to the subscription.
func (s *subscribers) remove(u *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(other *subscription) bool { return other == u })
}

// publishList sends list_changed to the subscriptions that selected the list.
func (s *subscribers) publishList(list string) {
	s.publish("notifications/"+list+"/list_changed", nil, func(u *subscription) bool { return u.lists[list] })
}

// publishUpdate sends resources/updated to the subscriptions that selected the resource.
func (s *subscribers) publishUpdate(uri string) {
	s.publish(spec.MethodResourcesUpdated, object{"uri": uri}, func(u *subscription) bool { return slices.Contains(u.uris, uri) })
}

func (s *subscribers) publish(method string, params object, wants func(u *subscription) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.all {
		if wants(u) {
			u.notify(method, params)
		}
	}
}
