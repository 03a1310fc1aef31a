package host_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// street is a host with room for some plugins.
type street struct {
	*host.Host
	root string
	dirs map[plugintest.Mode]string
}

func newStreet(t *testing.T, modes []plugintest.Mode, opts ...host.Option) *street {
	t.Helper()
	s := &street{root: t.TempDir(), dirs: map[plugintest.Mode]string{}}
	for _, mode := range modes {
		s.dirs[mode] = plugintest.Dir(t, mode)
	}
	// What is tested here holds without a sandbox, in which plugins do not find each other.
	s.Host = newHost(t, append(opts, host.WithRoot(s.root), host.WithDefaults(func(all *plugin.Settings) {
		all.Sandbox = plugin.Sandbox{Level: plugin.NoSandbox}
	}))...)
	return s
}

// move loads the plugin of a mode.
func (s *street) move(t *testing.T, mode plugintest.Mode) error {
	t.Helper()
	_, err := s.Load(t.Context(), s.dirs[mode])
	return err
}

// everyWay runs a test on each carrier, and with and without a PID namespace where
// the system has any for this user. By day it is with on two carriers, and without on the third.
func everyWay(t *testing.T, modes []plugintest.Mode, f func(t *testing.T, s *street)) {
	t.Helper()
	for i, carrier := range everyCarrier {
		ways := []plugin.Namespace{plugin.NamespaceAuto, plugin.NamespaceOff}
		if testing.Short() {
			ways = ways[i%2:][:1]
		}
		for _, namespace := range ways {
			t.Run(string(carrier)+"/namespace "+string(namespace), func(t *testing.T) {
				t.Parallel()
				f(t, newStreet(t, modes, host.WithDefaults(func(all *plugin.Settings) {
					all.Carrier = carrier
					all.Namespace = namespace
				})))
			})
		}
	}
}

func (s *street) ask(t *testing.T, name string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	_, err := s.Execute(ctx, tool.Call{Name: name, Arguments: []byte("{}")})
	return err
}

// left reports whether a file is in the workspace.
func (s *street) left(name string) bool {
	_, err := os.Stat(filepath.Join(s.root, name))
	return err == nil
}

func (s *street) status(t *testing.T, mode plugintest.Mode) plugin.Status {
	t.Helper()
	for _, p := range s.Plugins() {
		if p.Name == string(mode) {
			return p
		}
	}
	t.Fatalf("there is no plugin %s", mode)
	return plugin.Status{}
}

// unharmed fails the test if anything was done to a victim.
func (s *street) unharmed(t *testing.T, mode plugintest.Mode) {
	t.Helper()
	if err := s.ask(t, hostile.VictimLives); err != nil {
		t.Errorf("the victim: %v", err)
	}
	if p := s.status(t, mode); p.State != plugin.Ready || p.Starts != 1 {
		t.Errorf("the victim is %s, was started %d times: %s", p.State, p.Starts, p.Reason)
	}
	for _, name := range []string{hostile.Reached, hostile.VictimActed} {
		if s.left(name) {
			t.Errorf("the attacker left %q", name)
		}
	}
}

// A plugin does not reach another that runs, in whatever language that was written.
func TestHostileNeighbour(t *testing.T) {
	t.Parallel()
	for _, victim := range []plugintest.Mode{hostile.Victim, hostile.OtherVictim} {
		t.Run(string(victim), func(t *testing.T) {
			t.Parallel()
			modes := []plugintest.Mode{victim, hostile.Neighbour}
			everyWay(t, modes, func(t *testing.T, s *street) {
				for _, mode := range modes {
					require.NoError(t, s.move(t, mode))
				}
				if err := s.ask(t, hostile.VictimLives); err != nil { // it runs
					t.Fatal(err)
				}
				require.NoError(t, s.ask(t, hostile.Tool))
				s.unharmed(t, victim)
			})
		})
	}
}

// Nor does one that connects before the host does, where the other is built with
// pluginsdk.
func TestHostileNeighbourFirst(t *testing.T) {
	t.Parallel()
	modes := []plugintest.Mode{hostile.FirstIn, hostile.HeldVictim}
	everyWay(t, modes, func(t *testing.T, s *street) {
		for _, mode := range modes {
			require.NoError(t, s.move(t, mode))
		}
		s.unharmed(t, hostile.HeldVictim)
		if s.left(hostile.Connected) {
			t.Error("the attacker found a socket to connect to")
		}
	})
}

// A plugin cannot have the host speak to another in its place.
func TestHostileAddress(t *testing.T) {
	t.Parallel()
	for mode, exact := range map[plugintest.Mode]bool{hostile.HardLink: true, hostile.DirLink: true, hostile.Swap: false} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			everyWay(t, []plugintest.Mode{hostile.HeldOther, mode}, func(t *testing.T, s *street) {
				victim := make(chan error, 1)
				go func() { victim <- s.move(t, hostile.HeldOther) }()
				err := s.move(t, mode)
				require.NoError(t, os.WriteFile(filepath.Join(s.root, hostile.Connected), nil, 0o600))
				assert.NoError(t, <-victim)
				if p := s.status(t, mode); runtime.GOOS == "linux" && exact && p.State != plugin.Refused {
					t.Errorf("the attacker is %s: %v", p.State, err)
				}
				for _, e := range faultsOf(err) {
					if e.Code == tool.CodeAlreadyExists {
						t.Errorf("the host took the neighbour's tools for the attacker's: %v", e)
					}
				}
				s.unharmed(t, hostile.HeldOther)
			})
		})
	}
}

// The host connects to a process once. One that goes away is ended, and started by the
// next call.
func TestHostileReconnect(t *testing.T) {
	t.Parallel()
	for _, carrier := range []plugin.Carrier{plugin.Stream, plugin.Unary} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			s := newStreet(t, []plugintest.Mode{hostile.Reconnect}, host.WithDefaults(func(all *plugin.Settings) {
				all.Carrier = carrier
			}))
			require.NoError(t, s.move(t, hostile.Reconnect))
			for range 3 {
				if err := s.ask(t, hostile.Tool); err != nil && tool.CodeOf(err) != tool.CodeCrashed {
					t.Error(err)
				}
			}
			if s.left(hostile.Dialled) {
				t.Error("the host connected again")
			}
		})
	}
}

// Where another process can have asked a plugin to end, its doing so is not held
// against it. Where nothing else can, it is.
func TestHostileLeaver(t *testing.T) {
	t.Parallel()
	for mode, blamed := range map[plugintest.Mode]bool{hostile.Leaver: false, hostile.SDKLeaver: true} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := newStreet(t, []plugintest.Mode{mode}, host.WithDefaults(func(all *plugin.Settings) {
				all.Restart = plugin.RestartPolicy{Free: 1, Backoff: time.Hour, MaxBackoff: time.Hour}
			}))
			require.NoError(t, s.move(t, mode))
			for range 3 {
				if err := s.ask(t, hostile.Tool); err == nil {
					t.Error("it answered")
				}
			}
			if err := s.ask(t, hostile.Tool); (tool.CodeOf(err) == tool.CodeUnavailable) != blamed {
				t.Errorf("after three ends: %v", err)
			}
		})
	}
}

// A wrapper may have a process of its own listen in its place.
func TestPluginBehindWrapper(t *testing.T) {
	t.Parallel()
	for _, inner := range []plugintest.Mode{hostile.OtherVictim, hostile.Victim} {
		t.Run(string(inner), func(t *testing.T) {
			t.Parallel()
			program := plugintest.Install(t, t.TempDir(), string(inner))
			s := newStreet(t, nil)
			dir := t.TempDir()
			script := "#!/bin/sh\n'" + program + "'\nexit $?\n"
			if err := os.WriteFile(filepath.Join(dir, "wrapper"), []byte(script), 0o755); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			require.Must(s.Load(t.Context(), dir))(t)
			assert.NoError(t, s.ask(t, hostile.VictimLives))
		})
	}
}
