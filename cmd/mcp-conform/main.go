// Command mcp-conform reports whether an MCP server keeps the protocol.
package main

import (
	"os"

	"github.com/mcp-conform/mcp-conform/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.SystemWorld()))
}
