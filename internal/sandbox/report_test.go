package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
)

func lineOf(p *sandbox.Plan, name string) sandbox.Line {
	return p.Report[slices.IndexFunc(p.Report, func(l sandbox.Line) bool { return l.Name == name })]
}

// A protected file that is not there can be made, unless its directory is protected, too.
func TestReportOfMissingFiles(t *testing.T) {
	t.Parallel()
	full := sandbox.Features{Stage: true, Privileged: true, Mounts: true, Proc: true, Network: true, Landlock: 7, Seccomp: true, Notify: true}
	dir := t.TempDir()
	protected := filepath.Join(dir, "protected")
	require.NoError(t, os.Mkdir(protected, 0o700))
	of := sandbox.Profile{Write: sandbox.Grant{List: []string{dir}}, Protected: []string{protected, filepath.Join(protected, "toolhost.lock")}}
	if line := lineOf(sandbox.New(of, full, nil), "protected"); line.Open != "" {
		t.Errorf("in a protected directory: %+v", line)
	}
	of.Protected = append(of.Protected, filepath.Join(dir, "toolhost.lock"))
	if line := lineOf(sandbox.New(of, full, nil), "protected"); !strings.HasSuffix(line.Open, filepath.Join(dir, "toolhost.lock")) {
		t.Errorf("in another one: %+v", line)
	}
}

// Landlock enforces nothing of what a process that may do everything does, before it knows signals.
func TestReportOfOldLandlock(t *testing.T) {
	t.Parallel()
	of := sandbox.Profile{Read: sandbox.Everything, Write: sandbox.Everything, Exec: sandbox.Everything, Net: sandbox.Everything}
	for version, by := range map[int]string{5: "", 6: "Landlock"} {
		line := lineOf(sandbox.New(of, sandbox.Features{Stage: true, Seccomp: true, Landlock: version}, nil), "processes")
		if got := strings.Join(line.By, " "); got != by || strings.Contains(line.Open, "signalled") != (by == "") {
			t.Errorf("version %d: %+v", version, line)
		}
	}
}
