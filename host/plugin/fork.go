package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"

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
		process, err := p.spawn(env, outW, errW, theirs)
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
		p.setPID(process.Pid)
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

// spawn forks the process. From then on the goroutine that called owns it: it reaps
// it, ends its group, and closes exited.
func (p *process) spawn(env []string, stdout, stderr, socket *os.File) (process *os.Process, err error) {
	err = processes.start(func() (err error) {
		process, err = p.fork(env, stdout, stderr, socket)
		return err
	})
	return process, err
}

// fork runs on the thread that forks, so that nothing comes between looking at
// what is open and closing it in the process.
func (p *process) fork(env []string, stdout, stderr, socket *os.File) (*os.Process, error) {
	if err := p.namespace.missing(); err != nil {
		return nil, fmt.Errorf("it is to have a PID namespace, and cannot (see toolhost doctor): %v", err) //nolint:errorlint // it is not about the file
	}
	cmd := p.command(env, stdout, stderr, socket)
	p.namespaced = isolate(cmd, p.namespace)
	err := p.begin(cmd)
	if err != nil && p.namespaced && p.namespace.mayDoWithout(err) {
		cmd = p.command(env, stdout, stderr, socket)
		p.namespaced = isolate(cmd, NamespaceOff)
		err = p.begin(cmd)
	}
	return cmd.Process, err
}

// begin starts the command, from its copy where there is one.
func (p *process) begin(cmd *exec.Cmd) error {
	closeOthers(cmd)
	done, err := runCopy(cmd, p.copied)
	if err != nil {
		return err
	}
	defer done()
	return cmd.Start()
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
	if p.run != "" {
		cmd.Env = append(cmd.Env, runVariable+"="+p.run)
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
