package metrics

import (
	"cmp"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// cells are the series of calls, found once for each tool, caller and code: to find one by its labels takes
// longer than to count.
type cells struct {
	mu      sync.Mutex
	names   map[string]*toolCell // by what calls name tools, which is bounded as the tools are
	tools   map[string]*toolCell // by label
	callers map[string]string    // labels, by name
	pairs   map[pair]counters
}

// toolCell is the series of a tool.
type toolCell struct {
	label   string
	took    prometheus.Observer
	spent   [len(phases)]prometheus.Counter
	in, out prometheus.Counter
}

type pair struct {
	tool   *toolCell
	caller string
}

type counters map[tool.Code]prometheus.Counter

// cellOf returns the series of a call's tool, and that of its tool, caller and code.
func (n *Numbers) cellOf(e policy.Event, code tool.Code) (*toolCell, prometheus.Counter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed.Swap(false) || len(n.names) > 2*maxTools { // each has two names
		clear(n.names)
	}
	name := e.Call.Name
	if e.Safety == tool.Unset { // there is no such tool
		name = ""
	}
	t := n.names[name]
	if t == nil {
		label := unknownTool
		if name != "" {
			label = cmp.Or(n.find(name), unknownTool) // it may be gone by now
		}
		t = n.labelled(label)
		n.names[name] = t
	}
	key := pair{t, n.caller(e.Caller)}
	if n.pairs[key] == nil && len(n.pairs) >= maxPairs {
		key.tool = n.labelled(others)
	}
	of := n.pairs[key]
	if of == nil {
		of = counters{}
		n.pairs[key] = of
	}
	if count := of[code]; count != nil {
		return t, count
	}
	result := string(code)
	switch {
	case code == "":
		result = succeeded
	case !errorcode.Known(code): // it comes from a plugin, which may send a new one each time
		code, result = otherCode, otherCode
	}
	if of[code] == nil {
		of[code] = n.calls.WithLabelValues(key.tool.label, key.caller, result)
	}
	return t, of[code]
}

// labelled returns the series of the tools with a label, or of all that have no room.
func (n *Numbers) labelled(label string) *toolCell {
	if n.tools[label] == nil && len(n.tools) >= maxTools && label != unknownTool {
		label = others
	}
	t := n.tools[label]
	if t == nil {
		t = &toolCell{
			label: label, took: n.durations.WithLabelValues(label),
			in: n.bytes.WithLabelValues(label, "in"), out: n.bytes.WithLabelValues(label, "out"),
		}
		n.tools[label] = t
	}
	return t
}

// spend adds to the time that a tool's calls were in a phase. It is called by one goroutine.
func (n *Numbers) spend(t *toolCell, phase int, seconds float64) {
	if t.spent[phase] == nil {
		t.spent[phase] = n.spent.WithLabelValues(t.label, phases[phase])
	}
	t.spent[phase].Add(seconds)
}

// caller returns the label of a caller. Its name may be a stranger's own choice.
func (n *Numbers) caller(name string) string {
	label, known := n.callers[name]
	switch {
	case name == "":
		return noCaller
	case known:
		return label
	case len(n.callers) >= maxCallers:
		return others
	}
	label = sanitize.Line(name, maxLabel)
	n.callers[strings.Clone(name)] = label
	return label
}

// labelledLoads returns the calls of callers by their labels.
func (n *Numbers) labelledLoads(of map[string]activity.Load) map[string]activity.Load {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string]activity.Load{}
	for name, l := range of {
		label := n.caller(name)
		sum := out[label]
		out[label] = activity.Load{Running: sum.Running + l.Running, Waiting: sum.Waiting + l.Waiting}
	}
	return out
}
