package host_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// refused is an attacker that must not get as far as having tools.
func refused(mode plugintest.Mode, words bool, texts ...string) attack {
	return attack{
		mode: mode, state: plugin.Refused, reason: texts[0],
		start: &fault{code: tool.CodeUnavailable, texts: append(texts, "plugin "+string(mode)+" did not start"), words: words},
	}
}

// late is one that is given up after a start timeout of its own.
func late(a attack) attack {
	a.opts = append(a.opts, host.WithPluginSettings(func(name string, s *plugin.Settings) {
		if name == string(a.mode) {
			s.StartTimeout = slowStart
		}
	}))
	a.within = slowStart
	return a
}

// slowStart is long enough for an honest plugin on a machine that is busy, and
// what each attacker that is never ready makes a test wait.
const slowStart = 6 * time.Second

func TestHostileHandshake(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 8, []attack{
		late(refused(plugintest.Silent, false, "not ready within 6s")),
		late(refused(hostile.HalfLine, true, `"1|1|un"`)),
		late(refused(hostile.Mute, true, "not ready within 6s")),
		late(refused(hostile.Deaf, true, "not ready within 6s")),
		late(refused(hostile.NoDescribe, true, "not ready within 6s")),
		late(refused(hostile.NoConfig, true, "not ready within 6s")),
		refused(hostile.HalfAndGone, true, `"1|1|un"`),
		refused(plugintest.Garbage, false, "standard output before its handshake", `"hello from the plugin\x1b[31m"`, "use standard error for logs"),
		refused(hostile.LongLine, true, "more than 64 lines or 64 KiB"),
		refused(hostile.Control, true, `\x1b[2J\x1b]0;owned\a\u202egnp|\x9b31m`),
		refused(plugintest.OldCore, false, "version 99 of the go-plugin protocol", "this host version 1"),
		refused(plugintest.OtherApp, false, "version 99 of the toolhost protocol", "this host version 1"),
		refused(hostile.NetRPC, true, "does not serve gRPC"),
		refused(hostile.OldNetRPC, true, "does not serve gRPC"),
		refused(plugintest.TCP, false, `network "tcp"`, "only a unix socket"),
		undialled(refused(hostile.Foreign, true, "not in the directory")),
		undialled(refused(hostile.Dots, true, "not in the directory")),
		undialled(refused(hostile.Linked, true, "which is not a socket")),
		refused(hostile.NoSocket, true, "which is not a socket"),
		refused(hostile.Nowhere, true, "cannot be found"),
		refused(plugintest.NotAsked, false, "exit status 0"),
		refused(plugintest.Quitter, false, "exit status 3", "cannot find my configuration"),
		refused(hostile.ExitAfter, true, "exit status 0"),
		undialled(attack{mode: hostile.TwoShakes, state: plugin.Ready}),
		{mode: hostile.Certificate, state: plugin.Ready},
		{mode: hostile.BadFields, state: plugin.Ready},
		planted("architecture", "not a program for this machine", foreignELF()),
		planted("half", "the file is not all there", foreignELF()[:40]),
		planted("interpreter", "does not exist", []byte("#!/no/such/interpreter\n")),
		planted("empty", "the file is not all there", nil),
		planted("script", `"starting up"`, []byte("#!/bin/sh\necho starting up\n")),
	})
}

// undialled adds that nothing connected to the attacker's socket elsewhere.
func undialled(a attack) attack {
	a.then = func(t *testing.T, s *scene) {
		if _, err := os.Stat(filepath.Join(s.root, hostile.Dialled)); err == nil {
			t.Error("the host connected to a socket that is not the plugin's")
		}
	}
	return a
}

// planted is an attacker that is not a program, or none for this machine.
func planted(name, text string, content []byte) attack {
	a := refused(plugintest.Mode(name), false, text)
	a.plant = func(t *testing.T, dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return a
}

// foreignELF is the head of a program for a machine that is not made any more.
func foreignELF() []byte {
	b := make([]byte, 4096)
	copy(b, "\x7fELF\x02\x02\x01")           // 64 bits, big-endian
	b[17], b[19], b[23], b[53] = 2, 2, 1, 64 // a SPARC program
	return b
}
