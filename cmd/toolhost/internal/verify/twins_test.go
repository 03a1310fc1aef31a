package verify_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// twins are a plugin with one fault, the check that names it and what that says, and the plugin without the fault.
type twins struct {
	name, check, says string
	plugin            func(sound bool) *honest
}

// twin is the end of the name of the one without.
const twin = "twin"

// modes are the plugins of twins.
func modesOf(all []twins) map[plugintest.Mode]func() {
	modes := map[plugintest.Mode]func(){}
	for _, f := range all {
		modes[plugintest.Mode(f.name)] = func() { f.plugin(false).serve() }
		modes[plugintest.Mode(f.name+twin)] = func() { f.plugin(true).serve() }
	}
	return modes
}

// Each fault is found and named once, and its twin passes. With -short only the check that names it is run, with
// what it needs.
func TestFaultsAndTwins(t *testing.T) {
	t.Parallel()
	service := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t) //nolint:noctx // it lives as long as the test
	t.Cleanup(func() { _ = service.Close() })
	for _, f := range watchFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			o := verify.Options{Long: true}
			if testing.Short() {
				o.Checks = []string{f.check, shownBy[f.check], "start.by_hand"}
			}
			for _, name := range []string{f.name, f.name + twin} {
				dir := plugintest.Dir(t, plugintest.Mode(name))
				require.NoError(t, os.WriteFile(filepath.Join(dir, addressFile), []byte(service.Addr().String()), 0o600))
				o.File = filepath.Join(dir, name)
				report := require.Must(verify.Run(t.Context(), o))(t)
				said, found := "", []string{}
				for _, r := range report.Checks {
					if r.Found() && r.ID != "start.time" {
						said += strings.Join([]string{r.ID, r.Why, r.Do, report.Stderr}, "\n") + "\n"
						found = append(found, r.ID)
					}
					if r.ID == f.check && r.Outcome == verify.Skip {
						t.Skipf("%s: %s", r.ID, r.Why)
					}
				}
				switch {
				case name != f.name && len(found) > 0:
					t.Errorf("the twin: %s", said)
				case name == f.name && (!slices.Equal(found, []string{f.check}) || !strings.Contains(said, f.says)):
					t.Errorf("%v: %s, want %s: %s", found, said, f.check, f.says)
				}
			}
		})
	}
}
