package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// start forks the process, and gives up where the system has not done so when ctx
// ends: it may have to read the file from another machine.
func (p *process) start(ctx context.Context, env []string) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return p.notStarted(err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return p.notStarted(errors.Join(err, outR.Close(), outW.Close()))
	}
	theirs := p.offerSocket()
	if err := p.grpc.offer(); err != nil && unixSockets {
		p.log.Warn("no socket pair for the plugin; it is reached by a path, as other processes can", "error", err)
	}
	started := make(chan error, 1)
	go func() {
		// A Linux parent-death signal is sent when the thread that forked ends, not the
		// process (prctl(2), PR_SET_PDEATHSIG), and the Go runtime ends threads as it likes:
		// so this one is the process's as long as it lives, and ends with the goroutine. What
		// is done to it concerns what it starts and nothing else of the host, see weaken.
		runtime.LockOSThread()
		weaken()
		process, err := p.spawn(ctx, env, outW, errW, theirs)
		_, _ = outW.Close(), errW.Close()
		if theirs != nil {
			_ = theirs.Close()
		}
		p.grpc.handedOver()
		if err != nil {
			_, _ = outR.Close(), errR.Close()
			started <- p.notStarted(err)
			return
		}
		started <- nil
		p.own(process, outR, errR)
	}()
	select {
	case err := <-started:
		return err
	case <-ctx.Done():
		p.kill() // as soon as it is forked
		p.refuse(errNotForked)
		_ = p.handshake.Close()
		p.finish(&ExitError{Code: -1, Stuck: true})
		return errNotForked
	}
}

var errNotForked = errors.New("the system did not start it in time; does the file system that it is on answer?")

// spawn forks the process, and returns when it runs the plugin. From then on the
// goroutine that called owns it: it reaps it, ends its group, and closes exited.
func (p *process) spawn(ctx context.Context, env []string, stdout, stderr, socket *os.File) (*os.Process, error) {
	namespaces, err := p.namespace.resolve()
	if err != nil {
		return nil, fmt.Errorf("the plugin needs a PID namespace, which is not available (see toolhost doctor): %v", err) //nolint:errorlint // err is not about the file
	}
	if p.copied == nil {
		program, err := hold(ctx, p.path)
		defer program.close()
		if err != nil {
			return nil, err
		}
	}
	fork := func(n confine.Namespaces) (*os.Process, error) {
		p.namespaced = n != confine.NoNamespace
		cmd := p.command(env, stdout, stderr, socket)
		confine.Isolate(cmd, n)
		process, err := p.begin(cmd)
		if errors.Is(err, errNoStage) {
			cmd = p.command(env, stdout, stderr, socket)
			confine.Isolate(cmd, n)
			process, err = p.beginDirectly(cmd)
		}
		return process, err
	}
	process, err := fork(namespaces)
	if err != nil && p.namespaced && p.namespace.isOptional(err) {
		process, err = fork(confine.NoNamespace)
	}
	return process, err
}

// begin starts the command, which becomes the plugin, or its copy, in a process that can
// be killed before it has.
func (p *process) begin(cmd *exec.Cmd) (*os.Process, error) {
	stage, done, err := throughStage(cmd, p.copied)
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	done()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStage, errors.Join(err, stage.close()))
	}
	p.setPID(cmd.Process.Pid)
	if err := stage.passed(); err != nil {
		p.reap(cmd.Process)
		return nil, err
	}
	return cmd.Process, nil
}

// beginDirectly starts the command where there is no stage: whatever holds up execve holds
// up the host too, so the root is looked at first.
func (p *process) beginDirectly(cmd *exec.Cmd) (*os.Process, error) {
	if _, err := os.Stat(cmd.Dir); err != nil {
		return nil, &startFailure{"the workspace cannot be entered: " + err.Error()}
	}
	closeOthers(cmd)
	done, err := runCopy(cmd, p.copied)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.setPID(cmd.Process.Pid)
	if err := limitProcesses(cmd.Process.Pid); err != nil {
		p.log.Warn("the plugin's processes are not limited", "error", err)
	}
	return cmd.Process, nil
}

func (p *process) command(env []string, stdout, stderr, socket *os.File) *exec.Cmd {
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // its life is not one call's
	cmd.Dir, cmd.Env = p.dir, slices.Concat(env, p.env)
	cmd.Stdout, cmd.Stderr = stdout, stderr // and no standard input: the host's is not for plugins
	if socket != nil {
		cmd.ExtraFiles = []*os.File{socket} // the first is descriptor 3
		cmd.Env = append(cmd.Env, wire.SocketVariable+"=3")
	}
	if pair := p.grpc.theirs; pair != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, pair)
		cmd.Env = append(cmd.Env, wire.GRPCVariable+"="+strconv.Itoa(2+len(cmd.ExtraFiles)))
	}
	if p.group.Mark != "" {
		cmd.Env = append(cmd.Env, p.group.Mark)
	}
	return cmd
}

// offerSocket lets the process inherit one end of a socket pair, if that was
// chosen and can be had: else calls travel on the next carrier. It returns that
// end, to be closed when the process has it.
func (p *process) offerSocket() *os.File {
	if !p.lane {
		return nil
	}
	ours, theirs, err := socketPair()
	if err != nil {
		p.log.Warn("no socket for the plugin's calls; they take the stream", "error", err)
		return nil
	}
	p.host = ours
	return theirs
}
