package main

import (
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
)

// process is a program to run under limits. What it started ends with it.
type process struct {
	path  string
	args  []string
	dir   string
	env   []string // beside what the plugin has
	order launchOrder
	// time, memory and processes bound the run; 0: not.
	time      time.Duration
	memory    int64
	processes int
	stdout    io.Writer
	stderr    io.Writer

	// ways are the confinements to try in turn; nil: all that the system may have.
	ways []confinement
	mark string       // see [markVariable]
	told atomic.Value // the PID namespace that it has said it is in, a string
}

// excess is why a process was ended; empty: it ended by itself.
type excess string

const (
	tooLong      excess = "time"
	tooLarge     excess = "memory"
	tooMany      excess = "processes"
	gaveUp       excess = "canceled"
	lookInterval        = 50 * time.Millisecond
	// linger is how long output may stay open when the process has ended.
	linger = 2 * time.Second
)

// run runs the process to its end. An error means that it could not be started,
// or that ctx has ended.
func (p *process) run(ctx context.Context) (*os.ProcessState, excess, error) {
	p.mark = rand.Text()
	cmd, err := p.start()
	if err != nil {
		return nil, "", fmt.Errorf("the program could not be started: %w", err)
	}
	ended, why := make(chan struct{}), make(chan excess, 1)
	go func() { why <- p.watch(ctx, cmd, ended) }()
	var reason excess
	err = p.reap(cmd, func() {
		close(ended)
		reason = <-why
	})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil, "", fmt.Errorf("the program could not be waited for: %w", err)
	}
	if reason == gaveUp {
		return cmd.ProcessState, reason, ctx.Err()
	}
	return cmd.ProcessState, reason, nil
}

// start forks, in the strongest confinement that the system grants.
func (p *process) start() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ways := p.ways
	if ways == nil {
		ways = confinements
	}
	for _, c := range ways {
		if !c.possible() {
			continue
		}
		var cmd *exec.Cmd
		if cmd, err = p.command(self); err != nil {
			return nil, err
		}
		c.apply(cmd)
		if err = p.begin(cmd); err == nil {
			return cmd, nil
		}
	}
	return nil, err
}

// begin starts the command, which tells by a pipe which namespace it is in before it
// becomes the program: nothing that the program does can change that.
func (p *process) begin(cmd *exec.Cmd) error {
	if !canLaunch {
		return cmd.Start()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{w} // see toldBy
	err = errors.Join(cmd.Start(), w.Close())
	if err != nil {
		return errors.Join(err, r.Close())
	}
	go func() {
		link, _ := io.ReadAll(io.LimitReader(r, 64))
		_ = r.Close()
		p.told.Store(string(link))
	}()
	return nil
}

func (p *process) command(self string) (*exec.Cmd, error) {
	path, args := self, p.args
	if canLaunch {
		var err error
		if args, err = p.order.arguments(p.path, p.args); err != nil {
			return nil, err
		}
	} else {
		path = p.path
	}
	cmd := exec.Command(path, args...) //nolint:noctx // run ends it, with all that it started
	cmd.Dir, cmd.Env = p.dir, p.environment()
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr // standard input is empty
	cmd.WaitDelay = linger
	return cmd, nil
}

// environment is the plugin's, as its host allowed it, without what is between
// the two of them.
func (p *process) environment() []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		private := strings.HasPrefix(name, "TOOLHOST_") && name != "TOOLHOST_RUN" || strings.HasPrefix(name, "PLUGIN_")
		if !private {
			out = append(out, kv)
		}
	}
	return append(append(out, p.env...), markVariable+"="+p.mark)
}

// watch ends the process when it has used too much or nobody waits for it.
func (p *process) watch(ctx context.Context, cmd *exec.Cmd, ended <-chan struct{}) excess {
	var over <-chan time.Time
	if p.time > 0 {
		timer := time.NewTimer(p.time)
		defer timer.Stop()
		over = timer.C
	}
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	seen, looking := make(chan excess, 1), false // whatever holds up a look, the time is bounded
	for {
		var why excess
		select {
		case <-ended:
			return ""
		case <-ctx.Done():
			why = gaveUp
		case <-over:
			why = tooLong
		case <-look.C:
			if !looking {
				looking = true
				go func() { seen <- p.excess() }()
			}
		case why = <-seen:
			looking = false
		}
		if why != "" {
			kill(cmd.Process)
			return why
		}
	}
}

// excess looks at what the process and all that it started use.
func (p *process) excess() excess {
	n, memory := p.usage()
	switch {
	case p.processes > 0 && n > p.processes:
		return tooMany
	case p.memory > 0 && memory > p.memory:
		return tooLarge
	}
	return ""
}
