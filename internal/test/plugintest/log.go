package plugintest

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// printEverywhere prints to standard output as authors do by mistake, the last time without a
// newline.
func printEverywhere() {
	shout("early from Go\n")
	child("early from a child")
	shout("early, and no newline")
}

// descriptor is kept, as a file that is collected closes its descriptor.
var descriptor = os.NewFile(1, "standard output")

// child has a program print to this process's own descriptor of standard output.
func child(text string) {
	cmd := exec.Command("/bin/sh", "-c", `echo "$1"`, "sh", text)
	cmd.Stdout = descriptor
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// logTools log a line each, in the ways that there are.
func logTools() []tool.Tool {
	type in struct {
		Way string `json:"way"`
	}
	ways := map[string]func(context.Context){
		"tool":     func(ctx context.Context) { tool.Log(ctx, slog.LevelWarn, "by tool", "k", 1) },
		"slog":     func(context.Context) { slog.Error("by slog", "k", 1, "msg", "own") },
		"call":     func(ctx context.Context) { slog.WarnContext(ctx, "by slog of a call", slog.Group("g", "k", "v")) },
		"with":     func(context.Context) { slog.With("k", 1).WithGroup("g").Debug("by slog with more", "k", "two words") },
		"own slog": func(context.Context) { slog.New(slog.NewJSONHandler(os.Stderr, nil)).Warn("by its own slog", "k", 1) },
		"text slog": func(context.Context) {
			slog.New(slog.NewTextHandler(os.Stderr, nil)).Warn("by its own slog in text", "k", 1)
		},
		"hclog":     func(context.Context) { hclog.Default().Named("sub").Warn("by hclog", "k", 1) },
		"own hclog": func(context.Context) { hclog.New(nil).Error("by its own hclog", "k", 1) },
		"log":       func(context.Context) { log.Printf("by %s", "log") },
		"own log":   func(context.Context) { log.New(os.Stderr, "", log.LstdFlags).Print("by its own log") },
		"print":     func(context.Context) { shout("printed in a call\n") },
		"child":     func(context.Context) { child("printed by a child in a call") },
	}
	return []tool.Tool{pluginsdk.Func("log", "Logs a line.", func(ctx context.Context, v in) (string, error) {
		write := ways[v.Way]
		if write == nil {
			return "", fmt.Errorf("there is no way %q", v.Way)
		}
		write(ctx)
		return "", nil
	}, pluginsdk.Safe())}
}
