package main

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/view"
	"github.com/toolhost/toolhost/internal/sanitize"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutTop = `Show what the daemon does, a second at a time: the calls that run, or wait for a person, a plugin's
start or their turn; plugins with their processor, memory and times; callers; and of the calls that
have ended those that failed, and the slowest. Keys choose a row, and show its call whole, or its
plugin's log, answer a question that waits, restart or disable a plugin: ? lists them.

P50 and P99 are of the last minute: half of the calls, and 99 of 100, took less. The processor is
in percent of one. If the daemon ends, top waits for the next one.

Without a terminal, with TERM=dumb, --json or --follow it prints what is now, as text or JSON, once
or each second. NO_COLOR is heeded.`

// activityPace is how often a daemon is asked.
const activityPace = time.Second

func newTopCommand(s *session.Session) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "top", Short: "Show what runs, what waits, and what it takes", Long: aboutTop,
		Example: "  toolhost top\n  toolhost top --json --follow",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := dialCallers(cmd.Context(), s, true)
			if err != nil {
				return err
			}
			if !follow && !s.Flags.JSON && s.Out.Terminal() && os.Getenv("TERM") != "dumb" {
				if t, err := s.OpenTerminal(); err == nil { // there is someone to type
					_ = t.Close()
					return newTop(s, c).run(cmd.Context())
				}
			}
			return printActivity(cmd.Context(), s, c, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print what is now each second, until interrupted")
	return cmd
}

// printActivity prints what a daemon does, once or each second.
func printActivity(ctx context.Context, s *session.Session, c *control.Client, follow bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if width < view.MinWidth {
		width = 120
	}
	var data *view.Data
	return c.Activity(ctx, activityPace, func(a *daemonv1.Activity) error {
		if !follow {
			cancel()
		}
		if s.Flags.JSON {
			text, err := json.Marshal(plainMessage(a.ProtoReflect()))
			if err == nil {
				s.Out.Line(text)
			}
			return err
		}
		data = data.With(a, data == nil)
		for _, line := range view.Print(data, titleOf(c), width) {
			s.Out.Printf("%s\n", line)
		}
		return s.Out.Err()
	})
}

func titleOf(c *control.Client) string {
	d := c.State()
	return sanitize.Line(d.Identity.Root, 200) + "  pid " + strconv.Itoa(d.PID)
}

// plainMessage returns what is set of a message, with numbers as such: the JSON of protobuf has texts for them.
func plainMessage(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	value := func(v protoreflect.Value) any {
		inner, ok := v.Interface().(protoreflect.Message)
		if !ok {
			return v.Interface()
		}
		if t, ok := inner.Interface().(*timestamppb.Timestamp); ok {
			return t.AsTime()
		}
		return plainMessage(inner)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(f.Name())
		if !f.IsList() {
			out[name] = value(v)
			return true
		}
		all := []any{}
		for i := range v.List().Len() {
			all = append(all, value(v.List().Get(i)))
		}
		out[name] = all
		return true
	})
	return out
}
