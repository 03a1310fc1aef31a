package pluginrun

import (
	"github.com/toolhost/toolhost/internal/journal"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/confine"
)

// A plugin's last lines are read after it is reaped, and have its number all the same.
func TestLastLinesHaveTheirProcess(t *testing.T) {
	t.Parallel()
	var j journal.Journal
	p := newProcess(plugin.Candidate{Name: "p"}, Config{Logger: hclog.NewNullLogger(), Journal: &j})
	p.cmd.group = confine.Group{} // it gives no brand to whatever has the number here
	p.setPID(42)
	p.setPID(0)
	p.output.keep(hclog.Info, "the last words", "")
	lines, _ := j.Since(0)
	if len(lines) != 1 || lines[0].PID != 42 || p.number() != 0 {
		t.Errorf("lines %+v; the number of the process is %d", lines, p.number())
	}
}
