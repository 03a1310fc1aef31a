package main

import (
	"context"

	"github.com/toolhost/toolhost/bench/internal/bare"
)

// startBare starts a plugin with go-plugin and nothing else.
func startBare(_ context.Context, b *bench) (*variant, error) {
	c, err := bare.Start(b.binary("bare"))
	if err != nil {
		return nil, err
	}
	return &variant{pid: c.PID(), dial: shared(c.Call), close: c.Close}, nil
}
