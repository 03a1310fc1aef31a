package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/toolhost/toolhost/bench/internal/bare"
	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var recovered = figure{"recovery_ms", "from kill -9 of a plugin to the next answer; bare: from a start to the first answer, ms"}

// withSpare is the variant of a plugin that has a process in reserve.
const withSpare = "spare"

// setSpare gives plugins a process in reserve, and reports whether that is possible: a tree to compare with may be older.
func setSpare(all *plugin.Settings) bool {
	f := reflect.ValueOf(all).Elem().FieldByName("Spare")
	if f.CanInt() {
		f.SetInt(1)
	}
	return f.CanInt()
}

// recovery is how long a plugin that was killed is missed, against how long
// go-plugin takes to start one.
func recovery() measurement {
	hosts := map[string]*embedded{}
	names := []string{alone}
	if setSpare(&plugin.Settings{}) {
		names = append(names, withSpare)
	}
	m := measurement{
		name: "recovery",
		start: func(ctx context.Context, b *bench) error {
			for _, name := range names {
				dir, err := b.plugins("killed-"+name, "hosted", "bench")
				if err != nil {
					return err
				}
				h, err := openHost(ctx, "", dir, host.WithDefaults(func(all *plugin.Settings) {
					if name == withSpare {
						setSpare(all)
					}
				}))
				if err != nil {
					return err
				}
				b.cleanup(h.end)
				hosts[name] = h
			}
			return nil
		},
		measure: func(ctx context.Context, b *bench) error {
			events := []event{{bareUnary, func() (float64, error) { return startAndCall(ctx, b.binary("bare")) }}}
			for _, name := range names {
				events = append(events, event{name, func() (float64, error) {
					for name == withSpare && reflect.ValueOf(hosts[name].Plugins()[0]).FieldByName("Spare").IsZero() { // it is being made
						select {
						case <-ctx.Done():
							return 0, ctx.Err()
						case <-time.After(time.Millisecond):
						}
					}
					return killAndCall(ctx, hosts[name])
				}})
			}
			return b.alternate(recovered, events...)
		},
		keys: []key{{
			name: "recovery", about: "kill -9 to the next answer, against a bare start to the first answer", target: 1.2,
			value: toBare(recovered, alone),
		}},
	}
	if len(names) > 1 {
		m.keys = append(m.keys, key{name: "recovery_spare", about: "the same with a spare process", target: .3, value: toBare(recovered, withSpare)})
	}
	return m
}

func startAndCall(ctx context.Context, binary string) (float64, error) {
	begin := time.Now()
	c, err := bare.Start(binary)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	err = call(c.Call).do(ctx, work.Unrepeated())
	return milliseconds(time.Since(begin)), err
}

// killAndCall kills the plugin and calls until a process answers that was started
// later: the one that was killed may have one more answer on its way.
func killAndCall(ctx context.Context, h *embedded) (float64, error) {
	j := work.Unrepeated()
	if err := h.call.do(ctx, j); err != nil { // it is up
		return 0, err
	}
	was := h.Plugins()[0]
	process, err := os.FindProcess(was.PID)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := process.Kill(); err != nil {
		return 0, fmt.Errorf("killing plugin %s: %w", was.Name, err)
	}
	for {
		err := h.call.do(ctx, j)
		took := time.Since(begin)
		if err == nil && h.Plugins()[0].PID != was.PID {
			return milliseconds(took), nil
		}
		switch code := tool.CodeOf(err); {
		case ctx.Err() != nil || took > closing:
			return 0, fmt.Errorf("no answer in %v after the plugin was killed: %w", took, err)
		case err != nil && code != tool.CodeCrashed && code != tool.CodeUnavailable:
			return 0, err
		}
	}
}
