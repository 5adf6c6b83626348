package serverfeatures

import (
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// listens tracks the notifications that the server agreed to send on subscriptions/listen.
type listens struct{ all []listen }

// listen is an acknowledged subscription.
type listen struct {
	request *rules.Request
	ack     *transcript.Message
}

func (l *listens) handlers() rules.Handlers {
	return rules.Handlers{rules.Notification(spec.MethodAcknowledged): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
		if s.Era() != spec.Stateless {
			return
		}
		asked := s.StreamOf(obs.Event)
		if s.Transport == spec.Stdio {
			if all := s.RequestsWithID(obs.Message.ParamIDAt(spec.MetaPointer(spec.MetaSubscriptionID))); len(all) == 1 {
				asked = all[0]
			}
		}
		if asked != nil && asked.Message.Method == spec.MethodListen {
			l.all = append(l.all, listen{asked, &transcript.Message{Message: obs.Message, Event: obs.Event}})
		}
	}}
}

// until returns the position at which the subscription ended, or at which the client cancelled
// it.
func (l listen) until() int {
	end := math.MaxInt
	if len(l.request.Responses) > 0 {
		end = l.request.Responses[0].Event.Seq
	}
	if len(l.request.Cancellations) > 0 {
		end = min(end, l.request.Cancellations[0].Event.Seq)
	}
	if x := l.request.Exchange; x != nil && x.End != nil {
		end = min(end, x.End.Seq)
	}
	return end
}

// grants reports whether the server agreed to send a type of notification; if uri is not empty,
// for that resource.
func (l listen) grants(member, uri string) bool {
	v := l.ack.ParamAt("/notifications/" + member)
	if uri == "" {
		return v.Kind() == 't'
	}
	return slices.ContainsFunc(wire.Elements(v), func(e jsontext.Value) bool { text, _ := wire.Text(e); return text == uri })
}

// during returns a subscription to a type of notification that was acknowledged before position
// from and was still open at position to; false if there is none.
func (l *listens) during(member, uri string, from, to int) (listen, bool) {
	for _, one := range l.all {
		if one.ack.Event.Seq < from && one.until() > to && one.grants(member, uri) {
			return one, true
		}
	}
	return listen{}, false
}
