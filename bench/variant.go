package main

import (
	"context"
	"os"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host/plugin"
)

// The names of variants.
const (
	bareUnary      = "bare"
	toolhostStream = string(plugin.Stream)
	toolhostSocket = string(plugin.Socket)
	mcpStdio       = "mcp"
	rawSocket      = "raw"
)

// kinds are the ways to call a tool that are measured.
func kinds() []kind {
	return []kind{
		{bareUnary, "go-plugin, gRPC unary, defaults", startBare},
		{toolhostStream, "toolhost, whole chain, gRPC stream", startHosted(plugin.Stream)},
		{toolhostSocket, "toolhost, whole chain, socket pair", startHosted(plugin.Socket)},
		{mcpStdio, "MCP go-sdk over stdio", startMCP},
		{rawSocket, "raw Unix socket, one per caller", startRaw},
	}
}

type kind struct {
	name, about string
	// start starts a child, in as long as ctx lives; the child outlives it.
	start func(context.Context, *bench) (*variant, error)
}

// up starts the variant of a kind.
func (k kind) up(ctx context.Context, b *bench) error {
	v, err := k.start(ctx, b)
	if err != nil {
		return err
	}
	v.name, v.about = k.name, k.about
	process, err := os.FindProcess(v.pid)
	if err != nil {
		v.close()
		return err
	}
	b.cleanup(func() { _ = process.Kill() }) // should it outlive what follows
	b.cleanup(v.close)
	b.variants = append(b.variants, v)
	return nil
}

// variant is a child that is up, and the way to it.
type variant struct {
	name, about string
	// pid is the child's process.
	pid int
	// dial gives one caller its way, which ends with ctx.
	dial func(ctx context.Context) (call, error)
	// close ends the child.
	close func()
}

// call runs a tool of the child and gives the text of its result.
type call func(ctx context.Context, tool string, arguments []byte) (string, error)

// shared is the dial of variants whose callers have one way.
func shared(c call) func(context.Context) (call, error) {
	return func(context.Context) (call, error) { return c, nil }
}

// do is one call with an answer that is right.
func (c call) do(ctx context.Context, j work.Job) error {
	answer, err := c(ctx, j.Tool, j.Arguments)
	if err != nil {
		return err
	}
	return j.Check(answer)
}

// variant gives the one of a name.
func (b *bench) variant(name string) *variant {
	for _, v := range b.variants {
		if v.name == name {
			return v
		}
	}
	panic("there is no variant " + name)
}

// eachVariant lets all take their turn, another one first in each round.
func (b *bench) eachVariant(f func(*variant) error) error {
	for i := range b.variants {
		if err := f(b.variants[(b.round+i)%len(b.variants)]); err != nil {
			return err
		}
	}
	return nil
}
