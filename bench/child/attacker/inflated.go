package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// serveInflated serves a tool as pluginsdk does, but for the size of its results.
func serveInflated(t tool.Tool) error {
	set, err := tool.NewSet(t)
	if err != nil {
		return err
	}
	socket, err := wire.Inherited()
	if err != nil {
		return err
	}
	if socket == nil {
		return errors.New("this attack needs the socket")
	}
	server := &wire.Server{Provider: set, About: wire.Description{
		Name: t.Name, Features: []string{wire.FeatureStderr, wire.FeatureSocket},
	}}
	go func() { _ = server.Serve(context.Background(), inflated{socket}) }()
	plugin.Serve(wire.ServeConfig(server))
	return nil
}

// inflated makes each result one of 1 GiB, all of which is sent, whatever the host
// says: frames of docs/plugin-protocol.md. It needs one call at a time.
type inflated struct{ wire.Carrier }

const gibibyte = 1 << 30

var chunk = bytes.Repeat([]byte("x"), 64<<10)

// Send implements [wire.Carrier].
func (c inflated) Send(head []byte, body [][]byte) error {
	const (
		kindAt, numberAt  = 4, 8
		isResult, isChunk = 2, 3
		isFirst           = 1
	)
	if head[kindAt] != isResult {
		return c.Carrier.Send(head, body)
	}
	number := head[numberAt:12]
	frame := func(kind, flags byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(chunk)))
		return append(append(b, kind, flags, 0, 0), number...)
	}
	first := binary.LittleEndian.AppendUint64(frame(isChunk, isFirst), gibibyte)
	middle, last := frame(isChunk, 0), frame(isResult, 0)
	payload := [][]byte{chunk}
	err := c.Carrier.Send(first, payload)
	for sent := 2 * len(chunk); err == nil && sent < gibibyte; sent += len(chunk) {
		err = c.Carrier.Send(middle, payload)
	}
	if err != nil {
		return err
	}
	return c.Carrier.Send(last, payload)
}
