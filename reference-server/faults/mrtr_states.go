package faults

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// wrapState changes each requestState that the server sends, and restores it in the retry.
func wrapState(send, receive func(state string) string) *refserver.Seams {
	return combineSeams(
		WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if state, ok := wire.Text(wire.At(c.Params, "/requestState")); ok {
				params := decodeObject(c.Params)
				params["requestState"] = receive(state)
				c.Params = wire.JSON(params)
			}
			return next(c)
		}),
		editInputRequired(ifHas("requestState", func(r map[string]any) { r["requestState"] = send(r["requestState"].(string)) })),
	)
}

// greetByState keeps a greeting in requestState, next to the server's own protected state, and
// returns the greeting of the retry's requestState as the text of the result.
func greetByState(greeting any) *refserver.Seams {
	return keepInState(greeting, func(value any) string { return string(wire.JSON(value)) })
}

// keepInState keeps a value in requestState, next to the server's own protected state. The text of
// the result is what the function say returns for the value in the retry's requestState.
func keepInState(value any, say func(value any) string) *refserver.Seams {
	type state struct {
		Value  any
		Sealed string
	}
	open := func(text string) (s state) {
		b, _ := base64.RawURLEncoding.DecodeString(text)
		_ = json.Unmarshal(b, &s)
		return s
	}
	return combineSeams(
		wrapState(
			func(sealed string) string {
				return base64.RawURLEncoding.EncodeToString(wire.JSON(state{value, sealed}))
			},
			func(text string) string { return open(text).Sealed },
		),
		WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			text, _ := wire.Text(wire.At(c.Params, "/requestState"))
			result, err := next(c)
			if err != nil || text == "" {
				return result, err
			}
			r := decodeObject(result)
			for _, block := range objectsIn(r, "content") {
				block["text"] = say(open(text).Value)
			}
			return r, nil
		}),
	)
}

// keepSigned keeps a greeting in requestState, followed by a dot and a signature, and returns the
// greeting of the retry's requestState as the text of the result. isValid decides whether a state
// is accepted. Its arguments are the signature of the retry's state, with the dot, or "" if there is
// none, and the right signature without the dot.
func keepSigned(isValid func(signature, right string) bool) *refserver.Seams {
	sign := func(payload string) string {
		sum := sha256.Sum256([]byte("a secret of the server" + payload))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return combineSeams(greetByState("Hello"), wrapState(
		func(payload string) string { return payload + "." + sign(payload) },
		func(text string) string {
			payload, _, _ := strings.Cut(text, ".")
			if !isValid(text[len(payload):], sign(payload)) {
				return "" // which the server refuses
			}
			return payload
		},
	))
}

// passOverUnsigned serves a retry whose requestState has no signature as if it had no requestState.
func passOverUnsigned() *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		state, given := wire.Text(wire.At(c.Params, "/requestState"))
		if _, signature, _ := strings.Cut(state, "."); given && signature == "" {
			params := decodeObject(c.Params)
			delete(params, "requestState")
			c.Params = wire.JSON(params)
		}
		return next(c)
	})
}

// takeAnyState replaces any requestState with the last one that the server issued for the same
// tool. If onlyGiven is true, it replaces only a requestState that the server issued.
func takeAnyState(onlyGiven bool) *refserver.Seams {
	var last, given sync.Map // the last state by tool, and all states that were issued
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		name, _ := wire.Text(wire.At(c.Params, "/name"))
		sent, _ := wire.Text(wire.At(c.Params, "/requestState"))
		_, isOwn := given.Load(sent)
		if state, ok := last.Load(name); ok && sent != "" && (isOwn || !onlyGiven) {
			params := decodeObject(c.Params)
			params["requestState"] = state
			c.Params = wire.JSON(params)
		}
		result, err := next(c)
		if err == nil {
			if state, ok := wire.Text(wire.At(wire.JSON(result), "/requestState")); ok {
				last.Store(name, state)
				given.Store(state, true)
			}
		}
		return result, err
	})
}

// takeGreeting adds an optional argument, greeting, to the tool ask-elicitation, and does not put it
// into requestState. If shown is true, the text of the result begins with it.
func takeGreeting(shown bool) *refserver.Seams {
	const tool = "ask-elicitation"
	return combineSeams(
		editTool(tool, editMember("inputSchema", func(schema map[string]any) {
			schema["properties"] = map[string]any{"greeting": map[string]any{"type": "string"}}
		})),
		wrapTool(tool, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			greeting, given := wire.Text(wire.At(c.Params, "/arguments/greeting"))
			if !given {
				return next(c)
			}
			params := decodeObject(c.Params)
			delete(params["arguments"].(map[string]any), "greeting")
			c.Params = wire.JSON(params)
			result, err := next(c)
			if err != nil || requiresInput(result) || !shown {
				return result, err
			}
			r := decodeObject(result)
			for _, block := range objectsIn(r, "content") {
				block["text"] = greeting + ". " + block["text"].(string)
			}
			return r, nil
		}),
	)
}

// bindToSession refuses each requestState that the server did not issue in the same session. Over
// stdio, another session means another process.
func bindToSession() *refserver.Seams {
	var sessions sync.Map // by state
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if state, ok := wire.Text(wire.At(c.Params, "/requestState")); ok {
			if of, known := sessions.Load(state); !known || of != c.Session {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "This call was never made"}
			}
		}
		result, err := next(c)
		if err == nil {
			if state, ok := wire.Text(wire.At(wire.JSON(result), "/requestState")); ok {
				sessions.Store(state, c.Session)
			}
		}
		return result, err
	})
}

// refuseUsedStates refuses a requestState that an earlier request carried.
func refuseUsedStates() *refserver.Seams {
	var used sync.Map
	return refuseCalls("", func(c *refserver.Call) bool {
		state, ok := wire.Text(wire.At(c.Params, "/requestState"))
		_, again := used.LoadOrStore(state, true)
		return ok && again
	}, spec.CodeInvalidParams, "This requestState was used before")
}
