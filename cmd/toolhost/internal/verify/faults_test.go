package verify_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// fault is a plugin with one fault, which the program of that name is; that named sound-NAME is the same without it.
type fault struct {
	name  string
	args  []string // TOOL=JSON, as --call has them
	check string   // which finds it
	says  string   // what that says
}

// Each fault is found and named once; its twin passes. With -short only the check that finds it is run, with what it
// needs.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, f := range faultsOfCalls {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			names, why := f.found(t, f.name)
			if !slices.Equal(names, []string{f.check}) || !strings.Contains(why, f.says) {
				t.Errorf("%v have found something, want %s alone, which says %q: %q", names, f.check, f.says, why)
			}
			if names, _ := f.found(t, "sound-"+f.name); len(names) > 0 {
				t.Errorf("without the fault, %v have found something", names)
			}
		})
	}
}

// found verifies a plugin, and returns the checks that have found something, and what the fault's says.
func (f fault) found(t *testing.T, name string) (names []string, why string) {
	t.Helper()
	o := verify.Options{File: plugintest.InstallSelf(t, t.TempDir(), name), Long: true}
	if testing.Short() {
		o.Checks = []string{f.check, shownBy[f.check]}
	}
	for _, arg := range f.args {
		name, args, _ := strings.Cut(arg, "=")
		o.Calls = append(o.Calls, tool.Call{Name: name, Arguments: json.RawMessage(args)})
	}
	report, err := verify.Run(t.Context(), o)
	require.NoError(t, err)
	for _, r := range report.Checks {
		if r.Found() && (r.ID != "start.time" || f.check == r.ID) { // the time is also that of the machine
			names = append(names, r.ID)
		}
		if r.ID == f.check {
			why = r.Why
			if r.Outcome == verify.Skip {
				t.Errorf("%s: %s is skipped: %s", name, r.ID, why)
			}
		}
	}
	return names, why
}
