package plugintest

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// liar is a provider that says what pluginsdk would not.
type liar struct {
	defs []tool.Definition
	ran  func(name string) error // nil: not called
}

func (l liar) List(context.Context) ([]tool.Definition, error) { return l.defs, nil }
func (l liar) Execute(_ context.Context, call tool.Call) (tool.Result, error) {
	if l.ran != nil {
		if err := l.ran(call.Name); err != nil {
			return tool.Result{}, err
		}
	}
	return tool.Text("done"), nil
}
func (l liar) Close(context.Context) error { return nil }

func describeTwice() {
	d := tool.Definition{Name: "twice.tool", Description: "Is there twice.", Safety: tool.Safe}
	serve(liar{defs: []tool.Definition{d, d}}, wire.Description{})
}

func beUnaware() {
	fd, _ := strconv.Atoi(os.Getenv(wire.SocketVariable))
	socket := os.NewFile(uintptr(fd), "socket")
	read := func(string) error {
		n, err := socket.Read(make([]byte, 1))
		return fmt.Errorf("%d bytes, %w", n, err)
	}
	serve(liar{ran: read, defs: []tool.Definition{
		{Name: "unaware.read", Description: "Reads from the socket.", Safety: tool.Safe},
	}}, wire.Description{})
}

// serve is a plugin on bare go-plugin, as another SDK would make it.
func serve(p tool.Provider, about wire.Description) {
	config := wire.ServeConfig(&wire.Server{Provider: p, About: about})
	config.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Off})
	plugin.Serve(config)
	os.Exit(0)
}
