package messages_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/messages"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "messages", messages.Cases()) }
