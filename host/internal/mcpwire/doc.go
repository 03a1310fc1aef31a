// Package mcpwire is what the two sides of MCP share: messages on a line ([LineTransport]), the
// client on whose behalf a mounted server is asked ([Peer]), and what a mounted server has besides
// tools ([Source]), which no program outside of this module reaches.
package mcpwire
