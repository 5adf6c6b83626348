package stdio

import (
	"context"
	"errors"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestDialAfterItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("too late")
	cancel(cause)
	for name, kind := range kinds {
		if _, err := kind(t, "echo").Dial(ctx, transcript.New()); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
