package faults

import (
	"net/http"
	"reflect"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// combineSeams merges the seams of several faults. Seams that wrap a handler are nested, with the
// last one outermost. The BeforeHandle seams all run, in the given order; so do the Outgoing seams,
// until one of them drops the message. Every other seam, and Protection as a whole, is that of the
// last fault that sets it.
func combineSeams(several ...*refserver.Seams) *refserver.Seams {
	t := &refserver.Seams{}
	for _, one := range several {
		s := *one
		if outer, inner := s.Handle, t.Handle; outer != nil && inner != nil {
			s.Handle = func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
				return outer(c, func(c *refserver.Call) (any, *refserver.Error) { return inner(c, next) })
			}
		}
		if first, then := t.BeforeHandle, s.BeforeHandle; first != nil && then != nil {
			s.BeforeHandle = func(c *refserver.Call) {
				first(c)
				then(c)
			}
		}
		if first, then := t.Outgoing, s.Outgoing; first != nil && then != nil {
			s.Outgoing = func(o *refserver.Out) {
				if first(o); len(o.Frames) > 0 {
					then(o)
				}
			}
		}
		if first, then := t.HandleNotification, s.HandleNotification; first != nil && then != nil {
			s.HandleNotification = func(n *refserver.Notification, next func(*refserver.Notification)) {
				then(n, func(n *refserver.Notification) { first(n, next) })
			}
		}
		if outer, inner := s.HTTP, t.HTTP; outer != nil && inner != nil {
			s.HTTP = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				outer(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner(w, r, next) }))
			}
		}
		from, to := reflect.ValueOf(s), reflect.ValueOf(t).Elem()
		for i := range from.NumField() {
			if seam := from.Field(i); !seam.IsZero() {
				to.Field(i).Set(seam)
			}
		}
	}
	return t
}
