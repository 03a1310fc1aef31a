// Package process runs programs under limits, together with all that they start.
// Start with [Process.Run], and with [BecomeProgram] in main.
package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
)

// Process is a program to run under limits. What it starts ends with it.
type Process struct {
	Path string
	Args []string
	Dir  string
	Env  []string // in addition to the plugin's

	// Limits are those that the process sets for itself before it becomes the program.
	Limits Limits
	// Time, Memory and Processes bound the process together with all that it starts.
	// Memory is in bytes. 0 means no bound.
	Time      time.Duration
	Memory    int64
	Processes int

	// Quit is how long the process may go on once it is told to quit because Time is over: a
	// Go program then prints the stacks of its goroutines. 0: it is ended at once. QuitGroup
	// says that its whole group is told.
	Quit      time.Duration
	QuitGroup bool

	Stdout, Stderr io.Writer

	// Namespaces are those to try in turn. Nil: the strongest that is possible.
	Namespaces []confine.Namespaces

	mark      string       // see [markVariable]
	namespace atomic.Value // the PID namespace that the process said it is in, a string
}

// MaxFile is a limit for a file that a process writes, in bytes.
const MaxFile = 1 << 30

// markVariable is the environment variable that marks what a process started.
const markVariable = "TOOLHOST_FORM"

// strongestFirst are the namespaces that a program is started in, the first that is
// possible. Without any it has a process group, which a process can leave.
var strongestFirst = []confine.Namespaces{confine.PIDNamespace, confine.UserNamespace, confine.NoNamespace}

// Excess is the limit that a process exceeded, so that it was ended. Empty: it ended by
// itself.
type Excess string

// The limits. Canceled means that the context ended.
const (
	Time      Excess = "time"
	Memory    Excess = "memory"
	Processes Excess = "processes"
	canceled  Excess = "canceled"
)

const (
	// Between two looks at what is used is usageShare of what a look takes, within bounds: it takes longer
	// the more processes the machine has, whosever they are.
	usageInterval   = 50 * time.Millisecond
	longestInterval = 250 * time.Millisecond
	usageShare      = 20
	// outputGrace is how long output may stay open when the process has ended.
	outputGrace = 2 * time.Second
)

// Run runs the process to its end. It fails if the process could not be started, or ctx
// has ended.
func (p *Process) Run(ctx context.Context) (*os.ProcessState, Excess, error) {
	p.mark = rand.Text()
	cmd, err := p.start()
	if err != nil {
		return nil, "", fmt.Errorf("the program could not be started: %w", err)
	}
	ended, why := make(chan struct{}), make(chan Excess, 1)
	go func() { why <- p.watch(ctx, cmd, ended) }()
	var reason Excess
	err = p.reap(cmd, func() {
		close(ended)
		reason = <-why
	})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil, "", fmt.Errorf("the program could not be waited for: %w", err)
	}
	if reason == canceled {
		return cmd.ProcessState, reason, ctx.Err()
	}
	return cmd.ProcessState, reason, nil
}

// start forks, in the strongest namespaces that the system grants. A shortage is an error.
func (p *Process) start() (*exec.Cmd, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	choices := p.Namespaces
	switch {
	case choices != nil:
	case inSandbox(): // whose host would tell that more namespaces were denied
		choices = []confine.Namespaces{confine.NoNamespace}
	default:
		choices = strongestFirst
	}
	for _, n := range choices {
		if err = n.Check(); err != nil && confine.Impossible(err) {
			continue
		}
		var cmd *exec.Cmd
		if err == nil {
			cmd, err = p.command(self)
		}
		if err != nil {
			return nil, err
		}
		confine.Isolate(cmd, n)
		return cmd, p.begin(cmd)
	}
	return nil, err
}

// begin starts the command, which tells through a pipe which namespace it is in before it
// becomes the program: nothing that the program does can change that.
func (p *Process) begin(cmd *exec.Cmd) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{w} // see namespacePipe
	err = errors.Join(cmd.Start(), w.Close())
	if err != nil {
		return errors.Join(err, r.Close())
	}
	go func() {
		link, _ := io.ReadAll(io.LimitReader(r, 64))
		_ = r.Close()
		p.namespace.Store(string(link))
	}()
	return nil
}

func (p *Process) command(self string) (*exec.Cmd, error) {
	args, err := p.Limits.arguments(p.Path, p.Args)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...) //nolint:noctx // run ends it, with all that it started
	cmd.Dir, cmd.Env = p.Dir, p.environment()
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr // standard input is empty
	cmd.WaitDelay = outputGrace
	return cmd, nil
}

// environment returns the plugin's environment, as its host allowed it, without what is
// between the two of them.
func (p *Process) environment() []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		private := strings.HasPrefix(name, "TOOLHOST_") && name != confine.RunVariable || strings.HasPrefix(name, "PLUGIN_")
		if !private {
			out = append(out, kv)
		}
	}
	return append(append(out, p.Env...), p.group().Mark)
}

// group is all that the process starts.
func (p *Process) group() confine.Group {
	namespace, _ := p.namespace.Load().(string)
	return confine.Group{Mark: markVariable + "=" + p.mark, Namespace: namespace}
}

// reap waits for the process to end, calls ended, and ends what the process left. Where
// the system allows, that happens before its number, and so its group's, can be given to
// another.
func (p *Process) reap(cmd *exec.Cmd, ended func()) error {
	if !confine.AwaitExit(cmd.Process.Pid) {
		err := cmd.Wait()
		ended()
		kill(cmd.Process)
		return err
	}
	ended()
	kill(cmd.Process)
	p.group().End()
	err := cmd.Wait()
	confine.ReapGroup(cmd.Process.Pid)
	return err
}

// kill kills a process and its group.
func kill(process *os.Process) {
	confine.KillGroup(process.Pid)
	_ = process.Kill()
}

// watch ends the process when it has used too much, or ctx has ended.
func (p *Process) watch(ctx context.Context, cmd *exec.Cmd, ended <-chan struct{}) Excess {
	var over <-chan time.Time
	if p.Time > 0 {
		timer := time.NewTimer(p.Time)
		defer timer.Stop()
		over = timer.C
	}
	look := time.NewTimer(usageInterval)
	defer look.Stop()
	var reason Excess             // why it was told to quit
	found := make(chan Excess, 1) // whatever holds up a look, the time is bounded
	var began time.Time           // of the look
	for {
		var why Excess
		select {
		case <-ended:
			return reason
		case <-ctx.Done():
			why = canceled
		case <-over:
			why = Time
			if p.Quit > 0 && reason == "" {
				p.quit(cmd.Process.Pid)
				reason, over = why, time.After(p.Quit)
				continue
			}
		case <-look.C:
			began = time.Now()
			go func() { found <- p.excess() }()
		case why = <-found:
			look.Reset(min(max(usageInterval, usageShare*time.Since(began)), longestInterval))
		}
		if why != "" {
			kill(cmd.Process)
			return cmp.Or(reason, why)
		}
	}
}

// quit tells the process to quit.
func (p *Process) quit(pid int) {
	if p.QuitGroup {
		quitGroup(pid)
		return
	}
	quit(pid)
}

// excess returns which limit the process, and all that it started, exceed.
func (p *Process) excess() Excess {
	n, memory := p.group().Usage()
	switch {
	case p.Processes > 0 && n > p.Processes:
		return Processes
	case p.Memory > 0 && memory > p.Memory:
		return Memory
	}
	return ""
}
