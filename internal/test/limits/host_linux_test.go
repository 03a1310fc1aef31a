package limits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// job is what a host is to do: call a tool of the taker, in its sandbox, and the neighbour at the
// same time.
type job struct {
	Plugins, Root string
	Sandbox       plugin.Sandbox
	Namespace     plugin.Namespace
	Tool          string
	Measure       bool // how long the neighbour's calls take, for which it takes a while
}

// outcome is how that ended.
type outcome struct {
	Code           tool.Code // of the call
	Message, Text  string
	Quiet, During  time.Duration // the neighbour's p99; 0: it was not measured
	Grown          int64         // the most that the host's memory was above what it was before
	Cores          float64       // that the taker's process used during the call
	Throttled      int           // in how many periods it was to wait for a processor
	Starts, Again  int           // of the neighbour, and of the taker when it has been called again
	Error          string        // of whatever else failed
	NeighbourCalls int
}

const (
	// neighbourCalls are made at least, before and during the call, and measuredCalls to measure them.
	neighbourCalls, measuredCalls = 100, 1000
	// callPause is the time between two calls that are not measured.
	callPause = 5 * time.Millisecond
	// longEnough is how long the neighbour is called at least to measure it.
	longEnough = time.Second
	// throttledPeriods are so many that shares of processors can be told, where they are limited. A
	// machine that has less to give than the limit for so long, busyTime, is too busy for it.
	throttledPeriods = 10
	busyTime         = 20 * time.Second
)

// beHost does the job of the variable and prints the outcome.
func beHost() {
	var j job
	err := json.Unmarshal([]byte(os.Getenv(hostVariable)), &j)
	var out outcome
	if err == nil {
		err = j.run(context.Background(), &out)
	}
	if err != nil {
		out.Error = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

func (j job) run(ctx context.Context, out *outcome) (err error) {
	h, err := host.New(host.WithRoot(j.Root), host.WithPluginSettings(func(name string, s *plugin.Settings) {
		if name == string(taker) {
			s.Sandbox, s.Namespace = j.Sandbox, j.Namespace
		}
	}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	if _, err := h.Load(ctx, j.Plugins); err != nil {
		return err
	}
	call := func(ctx context.Context, name string) (tool.Result, error) {
		return h.Execute(ctx, tool.Call{Name: name, Arguments: []byte("{}")})
	}
	status := func(name string) plugin.Status {
		all := h.Plugins()
		return all[slices.IndexFunc(all, func(s plugin.Status) bool { return s.Name == name })]
	}
	// p99 is that of the neighbour until the time is over, and enough calls were made.
	calls, long, tick := neighbourCalls, time.Duration(0), time.NewTicker(callPause)
	defer tick.Stop()
	if j.Measure {
		calls, long = measuredCalls, longEnough
		tick.Reset(time.Nanosecond) // one call after the other
	}
	p99 := func(until func() bool) (time.Duration, error) {
		var took []time.Duration
		for began := time.Now(); len(took) < calls || time.Since(began) < long || !until(); {
			<-tick.C
			from := time.Now()
			if _, err := call(ctx, string(neighbour)+".rest"); err != nil {
				return 0, fmt.Errorf("the neighbour: %w", err)
			}
			if took = append(took, time.Since(from)); len(took) > 1_000_000 {
				return 0, errors.New("the call does not end")
			}
		}
		out.NeighbourCalls = len(took)
		slices.Sort(took)
		return took[len(took)*99/100], nil
	}
	now := func() bool { return true }
	if _, err := call(ctx, string(taker)+".rest"); err != nil {
		return err
	}
	for n := 0; n < 2 && j.Measure; n++ { // the first warms up
		if out.Quiet, err = p99(now); err != nil {
			return err
		}
	}
	before, stop := resident(), make(chan struct{})
	var most atomic.Int64
	go func() {
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			most.Store(max(most.Load(), resident()))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()

	pid := status(string(taker)).PID
	used, began := processorTime(pid), time.Now()
	taking, cancel := context.WithCancel(ctx)
	defer cancel()
	endless := make(chan struct{}) // closed if the call says that it will not end
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		res, err := call(tool.WithProgress(taking, func(tool.Progress) { close(endless) }), string(taker)+"."+j.Tool)
		if out.Text = res.Text(); err != nil {
			out.Code, out.Message = tool.CodeOf(err), err.Error()
		}
	}()
	isOver := func() bool {
		out.Throttled = throttled(pid)
		return over(ended) || over(endless) && (out.Throttled >= throttledPeriods || time.Since(began) > busyTime)
	}
	out.During, err = p99(isOver)
	// What else the machine does comes and goes; what a call does that goes on shows each time.
	for n := 0; n < 3 && j.Measure && err == nil && out.slow() && !over(ended); n++ {
		var again time.Duration
		again, err = p99(now)
		out.During = min(out.During, again)
	}
	out.Cores = (processorTime(pid) - used).Seconds() / time.Since(began).Seconds()
	cancel()
	<-ended
	close(stop)
	out.Grown = most.Load() - before
	if err != nil {
		return err
	}
	if _, err := call(ctx, string(taker)+".rest"); err != nil {
		return fmt.Errorf("the next call: %w", err)
	}
	out.Starts, out.Again = status(string(neighbour)).Starts, status(string(taker)).Starts
	return nil
}

// slow reports whether the neighbour was slower than can be, if that was measured.
func (o *outcome) slow() bool { return o.Quiet > 0 && o.During > slowCeiling*max(o.Quiet, shortest) }

// throttled is in how many periods the control group of a process was to wait for a processor.
func throttled(pid int) (periods int) {
	groups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[1] != "" && !slices.Contains(strings.Split(fields[1], ","), "cpu") {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join("/sys/fs/cgroup", fields[1], fields[2], "cpu.stat"))
		for line := range strings.Lines(string(stat)) {
			_, _ = fmt.Sscanf(line, "nr_throttled %d", &periods)
		}
	}
	return periods
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// resident is how much memory this process has.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// processorTime is how long a process has used processors; 0: it has ended.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / 100
}

// runHost runs a host that does the job.
func (j job) runHost(t *testing.T) (out outcome) {
	t.Helper()
	text := require.Must(json.Marshal(j))(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), hostVariable+"="+string(text))
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	cmd.Stderr = os.Stderr
	said := require.Must(cmd.Output())(t)
	require.NoError(t, json.Unmarshal(said, &out))
	if out.Error != "" {
		t.Fatal(out.Error)
	}
	return out
}
