// Package mcpwire is what the host as an MCP server and its mounted servers know of each other: the
// client on whose behalf a server is asked ([Peer]), and what a server has besides tools ([Source]),
// which no program outside of this module reaches.
package mcpwire
