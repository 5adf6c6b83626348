package refserver

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// In the stateless era the server sends no requests. A call that needs input from the client ends
// with a result that contains requests, and the client repeats the call with its responses to them
// (basic/patterns/mrtr). Handlers are the same in both eras, because a repeated call runs its
// handler from the start, and SendRequest returns the responses that the client has already given.
// requestState contains these responses, so that any process with the same key can continue the
// call.

// stateLifetime is how long a client may take to respond.
const stateLifetime = 10 * time.Minute

// takesInput contains the methods that may request input.
var takesInput = map[string]bool{
	spec.MethodToolsCall:     true,
	spec.MethodPromptsGet:    true,
	spec.MethodResourcesRead: true,
}

// errInputRequired is the error that a handler gets if the client has not yet responded
// to its request. The server then discards what the handler returns.
var errInputRequired = errors.New("the client is asked in the result of the call")

// A ClientRequest is a request to the client.
type ClientRequest struct {
	Method string
	Params object // nil to omit params
	Key    string // in inputRequests; by default input-1, input-2 and so on
}

// An input holds the requests that a call sends to the client, and the client's responses.
type input struct {
	answers  map[string]jsontext.Value // results, by the key of the request
	requests int                       // number of requests in this run of the handler
	pending  map[string]ClientRequest  // requests without a result, by key
}

// A requestState is the content of the member requestState.
type requestState struct {
	Request []byte                    `json:"request"` // digest of method and params
	Expires int64                     `json:"expires"` // in Unix nanoseconds, so that all states of a request are equally long
	Answers map[string]jsontext.Value `json:"answers"`
	Pending []string                  `json:"pending"` // keys of the requests in the last result
	User    string                    `json:"user,omitempty"`
}

// requestInput returns the client's results for several requests, or errInputRequired if one of
// them has no result yet. If the client has not declared the capability for a request, or a
// result is malformed, requestInput returns an error and makes the call fail with it.
func (c *Call) requestInput(requests []ClientRequest) ([]jsontext.Value, error) {
	if !takesInput[c.Method] {
		return nil, fmt.Errorf("%s may not ask for input", c.Method)
	}
	if err := c.readInput(); err != nil { // still unread if a fault requests input first
		return nil, err
	}
	var missing [][]string
	for _, r := range requests {
		path := r.capability()
		if path == nil {
			return nil, fmt.Errorf("%s can't be asked in a result", r.Method)
		}
		if !c.canAsk(path) {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		err := missingCapability(missing...)
		c.failWith(err)
		return nil, err
	}
	out := make([]jsontext.Value, len(requests))
	for i, r := range requests {
		c.input.requests++
		key := cmp.Or(r.Key, fmt.Sprintf("input-%d", c.input.requests))
		answer, answered := c.input.answers[key]
		switch {
		case !answered:
			c.input.pending[key] = r
		case !r.accepts(answer):
			err := invalidParams("inputResponses.%s is not a result of %s", key, r.Method)
			c.failWith(err)
			return nil, err
		}
		out[i] = answer
	}
	if len(c.input.pending) > 0 {
		return nil, errInputRequired
	}
	return out, nil
}

// capability returns the path of the capability that a client needs for the request, or nil if an
// input_required result can't carry such a request.
func (r ClientRequest) capability() []string {
	switch r.Method {
	case spec.MethodRootsList:
		return []string{"roots"}
	case spec.MethodElicit:
		if r.Params["mode"] == "url" {
			return []string{"elicitation", "url"}
		}
		return []string{"elicitation", "form"}
	case spec.MethodSampling:
		if r.Params["tools"] != nil {
			return []string{"sampling", "tools"}
		}
		if context, given := r.Params["includeContext"]; given && context != "none" {
			return []string{"sampling", "context"}
		}
		return []string{"sampling"}
	default:
		return nil
	}
}

// canAsk reports whether the client has declared a capability, given as ClientRequest.capability
// returns it.
func (c *Call) canAsk(path []string) bool {
	if len(path) == 2 && path[0] == "elicitation" && path[1] == "form" {
		return c.canElicitForms()
	}
	return c.ClientDeclared(path...)
}

// accepts reports whether v has the members that a result of the request requires.
func (r ClientRequest) accepts(v jsontext.Value) bool {
	_, members := wire.Members(v)
	switch r.Method {
	case spec.MethodElicit:
		content, given := members["content"]
		return oneOf([]string{"accept", "decline", "cancel"})(members["action"]) && (!given || content.Kind() == '{')
	case spec.MethodSampling:
		content := members["content"]
		return oneOf([]string{"user", "assistant"})(members["role"]) && isString(members["model"]) &&
			(content.Kind() == '{' || content.Kind() == '[')
	default:
		for _, root := range wire.Elements(members["roots"]) {
			if !isString(wire.At(root, "/uri")) {
				return false
			}
		}
		return members["roots"].Kind() == '['
	}
}

// readInput reads the responses and the requestState of a repeated call, unless it has already read
// them. It ignores responses to requests that the server did not send. A requestState that is not
// valid for this call is an error, unless a fault accepts it.
func (c *Call) readInput() *Error {
	if c.input != nil {
		return nil
	}
	c.input = &input{answers: map[string]jsontext.Value{}, pending: map[string]ClientRequest{}}
	f := c.fields()
	responses, err := f.optionalObject("inputResponses")
	if err != nil {
		return err
	}
	raw, given := f["requestState"]
	if !given {
		return nil
	}
	sealed, _ := wire.Text(raw)
	state, ok := c.Session.options.openState(sealed, c.digest())
	seams := &c.Session.options.Seams.Protection
	if !ok || state.User != c.Session.user && !seams.AnyUserState {
		if seams.AnyState {
			maps.Copy(c.input.answers, responses)
			return nil
		}
		return invalidParams("requestState is not one that the server gave out for this request, or it has expired")
	}
	maps.Copy(c.input.answers, state.Answers)
	for _, key := range state.Pending {
		if v, answered := responses[key]; answered {
			c.input.answers[key] = v
		}
	}
	return nil
}

// inputRequiredResult returns the result that carries the pending requests.
func (c *Call) inputRequiredResult() object {
	requests, keys := object{}, []string{}
	for key, r := range c.input.pending {
		requests[key] = object{"method": r.Method}
		if r.Params != nil {
			requests[key] = object{"method": r.Method, "params": r.Params}
		}
		keys = append(keys, key)
	}
	slices.Sort(keys) // equal calls get equal states
	return object{
		"resultType":    resultInputRequired,
		"inputRequests": requests,
		"requestState": c.Session.options.sealState(requestState{
			Request: c.digest(), Expires: time.Now().Add(stateLifetime).UnixNano(), Answers: c.input.answers, Pending: keys, User: c.Session.user,
		}),
	}
}

// digest returns a hash of the method and the params, without the members that a
// repeated call changes.
func (c *Call) digest() []byte {
	params := decodeObject(c.Params)
	for _, name := range []string{"_meta", "inputResponses", "requestState"} {
		delete(params, name)
	}
	sum := sha256.Sum256(wire.JSON(object{"method": c.Method, "params": params}))
	return sum[:]
}

// processKey returns the key that signs requestState unless Options.StateKey is set.
var processKey = sync.OnceValue(rand.Text)

func (o *Options) mac(payload []byte) []byte {
	key := o.StateKey
	if key == "" {
		key = processKey()
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write(payload)
	return h.Sum(nil)
}

// sealState returns a signed requestState. The content is not encrypted, because it holds
// nothing that the client must not know.
func (o *Options) sealState(state requestState) string {
	payload := wire.JSON(state)
	return base64.RawURLEncoding.EncodeToString(payload) + "." + base64.RawURLEncoding.EncodeToString(o.mac(payload))
}

// openState returns the content of a requestState. ok is false if the signature is wrong,
// the state belongs to another request, or it has expired.
func (o *Options) openState(sealed string, request []byte) (state requestState, ok bool) {
	text, signature, _ := strings.Cut(sealed, ".")
	payload, err := base64.RawURLEncoding.Strict().DecodeString(text)
	mac, err2 := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || err2 != nil || !hmac.Equal(mac, o.mac(payload)) || json.Unmarshal(payload, &state) != nil {
		return requestState{}, false
	}
	return state, hmac.Equal(state.Request, request) && time.Now().UnixNano() < state.Expires
}
