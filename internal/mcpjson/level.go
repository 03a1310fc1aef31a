package mcpjson

import (
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Level returns the level of a line of a server's log.
func Level(level mcp.LoggingLevel) slog.Level {
	switch level {
	case "debug":
		return slog.LevelDebug
	case "info", "notice":
		return slog.LevelInfo
	case "warning":
		return slog.LevelWarn
	}
	return slog.LevelError
}
