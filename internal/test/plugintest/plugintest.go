// Package plugintest has the plugins that tests are made with: real executables, in a real directory,
// that behave as their file's name says.
//
//	dir := plugintest.Dir(t, plugintest.Fixture, plugintest.Crasher)
package plugintest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
)

// Mode is what a plugin does: the first word of its file's name, as in
// "crasher" and "crasher-2".
type Mode string

// The modes.
const (
	Fixture   Mode = "fixture"   // serves fixture.Tools
	Crasher   Mode = "crasher"   // serves tools that end the process, see Tools
	Named     Mode = "named"     // serves tools that are named for its file, see NamedTools
	Outside   Mode = "outside"   // serves the tools that a file in its workspace tells, see Definitions
	Snoop     Mode = "snoop"     // serves a tool that shows what it can see of the host
	Preview   Mode = "preview"   // serves dangerous tools with previews, see previewTools
	Growing   Mode = "growing"   // serves tools that it is told to put and to remove
	Asking    Mode = "asking"    // serves tools that ask their callers, see askTools
	Lively    Mode = "lively"    // has health, sessions that end and a shutdown, see beLively
	Versioned Mode = "versioned" // serves tools that tell its version, see Deploy
	Twice     Mode = "twice"     // describes a tool twice
	Unaware   Mode = "unaware"   // does not know about the socket that it inherits, and serves a tool that reads from it
	Silent    Mode = "silent"    // never shakes hands
	Garbage   Mode = "garbage"   // prints something and no handshake
	Printing  Mode = "printing"  // prints before its handshake, and serves tools that log, see logTools
	Quitter   Mode = "quitter"   // exits with 3 before its handshake, with last words
	OldCore   Mode = "oldcore"   // speaks version 99 of go-plugin's protocol
	OtherApp  Mode = "otherapp"  // speaks version 99 of toolhost's protocol
	TCP       Mode = "tcp"       // announces a TCP address
	Elsewhere Mode = "elsewhere" // announces a socket outside of its directory
	NotAsked  Mode = "notasked"  // is not a plugin but a program that exits with 0
)

// own are the modes that only the test's binary has.
var own []map[Mode]func()

// Main runs the tests, or is a plugin if this process was started as one. More are modes in
// addition to those of the program testplugin.
func Main(m *testing.M, more ...map[Mode]func()) {
	Become(more...)
	os.Exit(m.Run())
}

// Become is [Main] for a test that does more after its tests: it returns if this process is not a plugin.
func Become(more ...map[Mode]func()) {
	own = more
	if os.Getenv(wire.CookieKey) == wire.CookieValue {
		Be(more...)
		os.Exit(0)
	}
}

// Be is the plugin that this process was started as, of a mode of this package or one of more.
func Be(more ...map[Mode]func()) {
	name := filepath.Base(os.Args[0])
	behave := find(name, append(more, behaviours))
	if behave == nil {
		fmt.Fprintf(os.Stderr, "plugintest: no mode %q\n", name)
		os.Exit(2)
	}
	behave()
}

// find returns what a file does; nil: it is not among the modes.
func find(name string, among []map[Mode]func()) func() {
	mode, _, _ := strings.Cut(strings.TrimSuffix(name, ".exe"), "-")
	for _, modes := range among {
		for _, m := range []string{name, mode} {
			if behave := modes[Mode(m)]; behave != nil {
				return behave
			}
		}
	}
	return nil
}

// Dir is a new plugin directory with one plugin for each mode. When the test
// has ended, no process of it may be left.
func Dir(t testing.TB, modes ...Mode) string {
	t.Helper()
	dir := t.TempDir()
	for _, m := range modes {
		Install(t, dir, string(m))
	}
	t.Cleanup(func() { noProcesses(t, dir) })
	return dir
}

// Install puts the program of a mode into dir under a name that starts with the mode,
// and returns its path.
func Install(t testing.TB, dir, name string) string {
	t.Helper()
	if find(name, own) != nil {
		return InstallSelf(t, dir, name)
	}
	path := filepath.Join(dir, name)
	binaries.Install(t, filepath.Join(binaries.Build(t, "internal/test/testplugin"), "testplugin"), path)
	return path
}

// InstallSelf puts this test's binary into dir under a name, and returns its path.
func InstallSelf(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	binaries.Install(t, require.Must(os.Executable())(t), path)
	return path
}

// noProcesses fails the test for each process that still runs a file of dir. It
// looks where /proc shows it.
func noProcesses(t testing.TB, dir string) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		exe, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(exe, dir+string(filepath.Separator)) {
			t.Errorf("%s still runs %s", filepath.Dir(link), exe)
		}
	}
}
