package host_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Where the record is required of safe tools too, none of them runs that is not on
// record when the disk is full.
func TestRequiredOfSafeToolsOnAFullDisk(t *testing.T) {
	t.Parallel()
	fulldisk.Run(t, safeCallsOn)
}

func safeCallsOn(t *testing.T, disk string) {
	t.Helper()
	path := filepath.Join(disk, "audit.jsonl")
	log := require.Must(audit.Open(path, audit.Options{}))(t)
	h := newHost(t, host.WithAudit(log), host.WithAuditRequired(tool.Safe))
	runs := 0
	require.NoError(t, h.Register(counted(echo("safe"), &runs)))
	refused := 0
	for range 150 {
		out := h.Call(t.Context(), tool.Call{Name: "safe"})
		if !out.Success {
			refused++
			if out.Error.Code != tool.CodeUnavailable || !strings.Contains(out.Content, "make space there") {
				t.Fatalf("it is refused with %+v", out.Error)
			}
		}
	}
	begun := 0
	for _, r := range lines(t, path) {
		if r.Event == audit.Begin {
			begun++
		}
	}
	if begun != runs || refused == 0 || refused+runs != 150 {
		t.Errorf("%d calls ran, %d were refused, %d are on record", runs, refused, begun)
	}
}

// A log that another process keeps locked refuses calls that must be on record, at
// once but for the first; others run, and are on record when it is free.
func TestRequiredWhileLocked(t *testing.T) {
	t.Parallel()
	log, path := openLog(t)
	h := newHost(t, host.WithAudit(log), host.WithAuditRequired(tool.Cautious))
	runs := map[string]*int{"safe": new(int), "cautious": new(int)}
	for name, n := range runs {
		require.NoError(t, h.Register(counted(echo(name, atLevel(levels[name])), n)))
	}
	// As flock(1) does: a lock belongs to the open file and not to the process.
	holder := require.Must(unix.Open(path+".lock", unix.O_RDONLY|unix.O_CLOEXEC, 0))(t)
	require.NoError(t, unix.Flock(holder, unix.LOCK_SH|unix.LOCK_NB))
	const calls = 50
	for range calls { // a wait for each would take minutes, and end the test
		if out := h.Call(t.Context(), tool.Call{Name: "cautious"}); out.Success || out.Error.Code != tool.CodeUnavailable ||
			!strings.Contains(out.Content, "cannot be put on record") || !strings.Contains(out.Content, "audit.jsonl.lock open") {
			t.Fatalf("cautious: %+v", out)
		}
		if out := h.Call(t.Context(), tool.Call{Name: "safe"}); !out.Success {
			t.Fatalf("safe: %+v", out)
		}
	}
	// A process that another test is starting may still have the descriptor.
	require.NoError(t, errors.Join(unix.Flock(holder, unix.LOCK_UN), unix.Close(holder)))
	if out := h.Call(t.Context(), tool.Call{Name: "cautious"}); !out.Success {
		t.Errorf("when it is free: %+v", out)
	}
	if *runs["safe"] != calls || *runs["cautious"] != 1 {
		t.Errorf("%d and %d runs", *runs["safe"], *runs["cautious"])
	}
	report := require.Must(audit.Verify(t.Context(), path))(t)
	if report.Break != nil || report.Lines != 2*calls+2 {
		t.Errorf("the record of %d calls:\n%s", 2*calls+1, &report)
	}
}
