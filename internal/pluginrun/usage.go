package pluginrun

import (
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The bounds of looking at what a plugin uses.
const (
	usageAge     = 250 * time.Millisecond // for which it is not looked at again
	maxProcesses = 256                    // of a run
)

// Usage adds up what the processes of a plugin use, of all its runs. It looks when it is asked, and has no
// part in a call. The zero value counts nothing yet.
type Usage struct {
	refused atomic.Int64 // by the sandbox

	mu   sync.Mutex                // held for a moment
	live map[*process]plugin.Usage // as it was seen last
	past time.Duration             // processor time of runs that have ended

	looking sync.Mutex // held while processes are looked at
	last    plugin.Usage
	at      time.Time // zero: there was nothing to look at yet
}

// begun adds a process that runs.
func (u *Usage) begun(p *process) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.live == nil {
		u.live = map[*process]plugin.Usage{}
	}
	u.live[p] = plugin.Usage{}
}

// ended takes out a process of which nothing runs any more. Its control group is still there.
func (u *Usage) ended(p *process, state *os.ProcessState) {
	used := time.Duration(0)
	if state != nil {
		used = state.UserTime() + state.SystemTime() // with that of children that it has waited for
	}
	if p.cmd.control != nil {
		used = max(used, p.cmd.control.CPU())
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.past += max(used, time.Duration(u.live[p].CPU))
	delete(u.live, p)
}

// Now returns what the processes use, as of [usageAge] ago at most; nil: there was none yet.
func (u *Usage) Now() *plugin.Usage {
	u.looking.Lock()
	defer u.looking.Unlock()
	if u.at.IsZero() || time.Since(u.at) >= usageAge {
		u.look()
	}
	if u.at.IsZero() {
		return nil
	}
	now := u.last
	now.Refused = u.refused.Load()
	return &now
}

// look looks at the processes. Meanwhile others may begin and end.
func (u *Usage) look() {
	u.mu.Lock()
	all := slices.Collect(maps.Keys(u.live))
	u.mu.Unlock()
	seen := make([]plugin.Usage, len(all))
	for i, p := range all {
		seen[i] = p.uses()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, p := range all {
		if before, lives := u.live[p]; lives {
			seen[i].CPU, seen[i].MaxMemory = max(seen[i].CPU, before.CPU), max(seen[i].MaxMemory, before.MaxMemory)
			u.live[p] = seen[i]
		}
	}
	if len(u.live) == 0 && u.past == 0 {
		return
	}
	now := plugin.Usage{CPU: tool.Duration(u.past), Group: len(u.live) > 0}
	for _, one := range u.live {
		now.CPU += one.CPU
		now.Memory += one.Memory
		now.MaxMemory += one.MaxMemory
		now.Descriptors += one.Descriptors
		now.Group = now.Group && one.Group
	}
	u.last, u.at = now, time.Now()
}

// uses returns what the run uses now.
func (p *process) uses() (u plugin.Usage) {
	var processes []int
	if group := p.cmd.control; group != nil {
		used := group.Usage()
		u = plugin.Usage{CPU: tool.Duration(used.CPU), Memory: used.Memory, MaxMemory: used.Peak, Group: used.CPU > 0 && used.Memory > 0}
	}
	if u.Group {
		processes = p.cmd.control.Processes(maxProcesses)
	} else if pid := p.number(); pid != 0 {
		var found confine.Usage
		found, processes = confine.UsageBelow(pid, maxProcesses)
		u.CPU, u.Memory = max(u.CPU, tool.Duration(found.CPU)), max(u.Memory, found.Memory)
	}
	u.MaxMemory, u.Descriptors = max(u.MaxMemory, u.Memory), confine.Descriptors(processes)
	return u
}
