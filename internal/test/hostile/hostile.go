// Package hostile makes the program testplugin a plugin that means harm: one mode for each thing
// that a plugin could do to its host, its neighbours or its callers. The modes of package
// plugintest are honest or merely clumsy.
//
// A mode that gets as far as having tools has [Tool], which does the harm. The comment of
// a mode says what it does at once, before any call or at the same time.
package hostile

import (
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// Tool is the tool that does the harm, with no arguments but where its mode says
// so.
const Tool = "hostile.do"

// Mark is a variable that a test may set, by the plugins' settings, to find
// what a plugin has started and left behind.
const Mark = "TOOLHOST_TEST_MARK"

// LastWords is what each mode writes to standard error before it does harm, with
// an escape sequence that clears a terminal.
const LastWords = "now I will do it\x1b[2J"

// Modes are the behaviours, by mode.
func Modes() map[plugintest.Mode]func() {
	all := map[plugintest.Mode]func(){}
	for _, modes := range []map[plugintest.Mode]func(){
		handshakeModes(), livenessModes(), floodModes(), frameModes(), lieModes(), escapeModes(), systemModes(), verboseModes(), neighbourModes(), http2Modes(),
	} {
		for mode := range modes {
			if all[mode] != nil {
				panic(fmt.Sprintf("two modes are called %s", mode))
			}
		}
		maps.Copy(all, modes)
	}
	return all
}

// warn writes the last words.
func warn() { fmt.Fprintln(os.Stderr, LastWords) }

// shout writes to standard output.
func shout(s string) { _, _ = io.WriteString(os.Stdout, s) }

// leave makes a file in the workspace, as evidence that something was done.
func leave(name string) { _ = os.WriteFile(name, nil, 0o600) }

// must ends a plugin that cannot even do what it is for.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(70)
	}
}
