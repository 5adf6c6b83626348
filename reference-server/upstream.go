package refserver

import (
	"context"
	"io"
	"net/http"
	"time"
)

// forecastTool asks the upstream, with a key of the server's own.
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
	upstreamTime = 2 * time.Second
	upstreamBody = 1 << 16
	upstreamKey  = "key-of-the-reference-server"
)

// askUpstream returns what the upstream answers.
func (c *Call) askUpstream() (string, error) {
	ctx, cancel := context.WithTimeout(c.Context(), upstreamTime)
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
	text, err := io.ReadAll(io.LimitReader(response.Body, upstreamBody))
	return string(text), err
}
