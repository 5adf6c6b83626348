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

// subscriptions tracks the notifications that the server agreed to send on subscriptions/listen.
type subscriptions struct{ all []subscription }

// subscription is an acknowledged subscription.
type subscription struct {
	request *rules.Request
	ack     *transcript.Message
}

func (l *subscriptions) handlers() rules.Handlers {
	return rules.Handlers{rules.Notification(spec.MethodAcknowledged): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
		if s.Era() != spec.Stateless {
			return
		}
		asked := s.RequestOfExchange(obs.Event)
		if s.Transport == spec.Stdio {
			if all := s.RequestsWithID(obs.Message.ParamIDAt(spec.MetaPointer(spec.MetaSubscriptionID))); len(all) == 1 {
				asked = all[0]
			}
		}
		if asked != nil && asked.Message.Method == spec.MethodListen {
			l.all = append(l.all, subscription{asked, &transcript.Message{Message: obs.Message, Event: obs.Event}})
		}
	}}
}

// endPosition returns the position at which the subscription ended or at which the client cancelled
// it, whichever is earlier; math.MaxInt if neither happened.
func (l subscription) endPosition() int {
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
func (l subscription) grants(member, uri string) bool {
	v := l.ack.ParamAt("/notifications/" + member)
	if uri == "" {
		return v.Kind() == 't'
	}
	return slices.ContainsFunc(wire.Elements(v), func(e jsontext.Value) bool { text, _ := wire.Text(e); return text == uri })
}

// openDuring returns a subscription to a type of notification that was open between two positions:
// it was acknowledged before the first position and had not ended by the second. It returns false
// if there is no such subscription.
func (l *subscriptions) openDuring(member, uri string, from, to int) (subscription, bool) {
	for _, s := range l.all {
		if s.ack.Event.Seq < from && s.endPosition() > to && s.grants(member, uri) {
			return s, true
		}
	}
	return subscription{}, false
}
