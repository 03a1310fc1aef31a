// Package plugintest lets a test binary be the plugins that it tests with: a
// real executable, in a real directory, that behaves as its file's name says.
//
//	func TestMain(m *testing.M) { plugintest.Main(m) }
//
//	dir := plugintest.Dir(t, plugintest.Fixture, plugintest.Crasher)
package plugintest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// Mode is what a plugin does: the first word of its file's name, as in
// "crasher" and "crasher-2".
type Mode string

// The modes.
const (
	Fixture   Mode = "fixture"   // serves tooltest.Fixture
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

// Main runs the tests, or is a plugin if this process was started as one. More are modes in
// addition to those of this package.
func Main(m *testing.M, more ...map[Mode]func()) {
	if os.Getenv(wire.CookieKey) == wire.CookieValue {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), "-")
		behave, ok := behaviours[Mode(name)]
		for _, modes := range more {
			if b := modes[Mode(name)]; b != nil {
				behave, ok = b, true
			}
		}
		if !ok {
			fmt.Fprintf(os.Stderr, "plugintest: no mode %q\n", name)
			os.Exit(2)
		}
		behave()
		return
	}
	os.Exit(m.Run())
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

// Install puts this test's binary into dir under a name that starts with a mode,
// and returns its path.
func Install(t testing.TB, dir, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.Link(self, path); err == nil {
		return path
	}
	if err := copyFile(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // a program
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
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
