package refserver

import (
	"context"
	"io"
	"net/http"
	"time"
)

// forecastTool calls the upstream service with the server's own key.
var forecastTool = &tool{
	name: "forecast", title: "Forecast", description: "Asks the weather service for a forecast.", openWorld: true,
	run: func(c *Call, _ values) object {
		text, err := c.askUpstream()
		if err != nil {
			return object{"content": []object{textBlock("The weather service does not answer: " + err.Error())}, "isError": true}
		}
		return object{"content": []object{textBlock(text)}}
	},
}

const (
	upstreamTimeout = 2 * time.Second
	maxUpstreamBody = 1 << 16 // in bytes
	upstreamKey     = "key-of-the-reference-server"
)

// askUpstream returns at most maxUpstreamBody bytes of the body of the upstream's response,
// whatever its status.
func (c *Call) askUpstream() (string, error) {
	ctx, cancel := context.WithTimeout(c.Context(), upstreamTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Session.options.Upstream+"/forecast", nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+upstreamKey)
	if change := c.Session.options.Seams.Protection.Upstream; change != nil {
		change(r, c.Session.token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxUpstreamBody))
	return string(text), err
}
