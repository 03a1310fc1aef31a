// Command testplugin is the plugins and MCP servers that tests start most: what it does its file's name says.
// It is small, and without the race detector, with which a test's binary takes ten times as long to start.
package main

import (
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/toolserver"
)

func main() { plugintest.Be(hostile.Modes(), toolserver.Modes()) }
