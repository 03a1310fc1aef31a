package pluginrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// launch starts a run, and returns when it can take calls, has failed or ctx has ended; in
// the last two cases nothing of it is left. Prepare makes its process and the link to it. What
// is wrong with the answers of its calls goes to fault. OnChanged is called when the plugin
// says that its tools have changed; it must not block.
func launch(
	ctx context.Context, cfg Config, prepare func(context.Context, Config, *instance) error,
	fault *atomic.Pointer[plugin.Fault], onChanged func(*instance),
) (*instance, error) {
	if cfg.Admit != nil {
		if err := cfg.Admit(cfg.spare); err != nil {
			return nil, notPinned(err)
		}
	}
	if cfg.Accepted != nil { // once, whatever is accepted meanwhile
		ceiling, known := cfg.Accepted()
		cfg.Accepted = func() (*tool.Needs, bool) { return ceiling, known }
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.StartTimeout, fmt.Errorf("not ready within %v", cfg.StartTimeout))
	defer cancel()

	for again := true; ; {
		in := &instance{
			fault: fault, published: make(chan struct{}),
			health: health{pause: cmp.Or(cfg.healthPause, healthPause)}, refresh: newRefresh(onChanged),
		}
		worth, err := in.start(ctx, cfg, prepare)
		if other, ok := errors.AsType[*otherNeeds](err); ok {
			cfg.needs, cfg.modules = other.needs, other.modules
		}
		asked := cfg.asking()
		cfg.unasked = false
		switch {
		case err == nil:
			return in, nil
		case asked && ctx.Err() == nil: // it may need more to say what it needs
		case !worth || !again:
			return nil, err
		default:
			again = false
		}
	}
}

// start starts a run. If it fails, nothing of it is left, and again reports whether another try
// may succeed.
func (in *instance) start(
	ctx context.Context, cfg Config, prepare func(context.Context, Config, *instance) error,
) (again bool, err error) {
	if err := cfg.checkWrites(); err != nil {
		return false, notPinned(err)
	}
	began := time.Now()
	if err := prepare(ctx, cfg, in); err != nil {
		return false, err
	}
	forked := time.Now()
	// Whatever a start may be waiting for, it ends with the process.
	defer context.AfterFunc(ctx, in.proc.kill)()

	if in.about, err = in.link.connect(ctx); err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		again = errors.Is(err, ErrAgain)
		// If the process is about to end by itself, how it ends is the reason.
		if other := new(otherNeeds); !errors.As(err, &other) {
			waitFor(in.proc.exited, exitWait)
		}
		err = startError(ctx, in.proc, err, time.Since(began))
		in.release()
		return again, err
	}
	in.since, in.took, in.shook = time.Now(), time.Since(began), time.Since(forked)
	return false, nil
}

// exitWait is how long a failed start waits for the process to end by itself, so that the
// error can say how it did.
const exitWait = 100 * time.Millisecond

func clientConfig(p *process, cfg Config) *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.ClientPlugins(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			if err := p.grpc.openDir(socketDir); err != nil {
				return nil, err
			}
			return &goRunner{process: p, env: cmd.Env}, nil
		},
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: cfg.TempDir},
		// Our own bound is the context's; this one only ends what it missed.
		StartTimeout:    cfg.StartTimeout + time.Second,
		GRPCDialOptions: dialOptions(&p.grpc, cfg.StartTimeout),
		SyncStdout:      newLineLogger(p.output),
		SyncStderr:      newLineLogger(p.output),
		Stderr:          io.Discard,
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	}
}

// failedStart is the cause of an error that says that a plugin did not start by a fault of
// its own.
type failedStart struct {
	error
	took time.Duration
}

func (f *failedStart) Unwrap() error { return f.error }

// FailedStart returns how long a plugin took that did not start by a fault of its own;
// false: err is about something else, such as pins or the end of a context.
func FailedStart(err error) (took time.Duration, ok bool) {
	var f *failedStart
	if !errors.As(err, &f) {
		return 0, false
	}
	return f.took, true
}

// startError says why a start failed, in the words that help most: what the plugin did
// wrong in the handshake, how its process ended, or how far it got.
func startError(ctx context.Context, p *process, err error, took time.Duration) error {
	if less := new(lessError); errors.As(err, &less) || errors.As(p.refusal(), &less) {
		return less.asError()
	}
	if errors.Is(err, errPinned) {
		return err
	}
	out := unavailable(p.name, nil, "", TryAgainHint(p.name))
	out.Detail = p.output.stderr.String()
	refusal := p.refusal()
	switch {
	case refusal != nil && !errors.Is(refusal, errClosedEarly):
		out.Err = refusal
	case p.endedBefore(ctx):
		out.Err = fmt.Errorf("the process ended before it was ready: %w", p.exit)
		if why := cmp.Or(p.output.stderr.cause(), p.output.stderr.last()); why != "" {
			out.Err = fmt.Errorf("%w: %s", out.Err, why)
		}
		if c := p.cmd.copied; c != nil && !c.file.Sealed { // a script
			out.Err = fmt.Errorf("%w (it runs from a private copy, as it is pinned, kept or in the workspace, "+
				"and finds no files next to the original)", out.Err)
		}
	case errors.Is(ctx.Err(), context.Canceled): // by the plugin's end: a caller's is in notReady
		out.Err = errStopped
	case ctx.Err() != nil:
		out.Err = context.Cause(ctx)
	case refusal != nil:
		out.Err = refusal
	default:
		out.Err, out.OperatorHint = err, cmp.Or(tool.AsError(err).OperatorHint, out.OperatorHint)
		if bad := new(ConfigurationError); errors.As(err, &bad) {
			out.Err = fmt.Errorf("%w; %s", err, bad.hint(p.name)) // in the message, which is remembered and shown everywhere
		}
	}
	out.OperatorHint = cmp.Or(safefile.DescriptorHint(out.Err), out.OperatorHint)
	out.Message = fmt.Sprintf("plugin %s did not start: %s", p.name, sanitize.Line(out.Err.Error(), 1000))
	if !errors.Is(out.Err, errStopped) && !isScarce(out.Err) {
		out.Err = &failedStart{out.Err, took}
	}
	return out
}

// errStopped is why a start failed that the host itself ended. Its caller has cancelled nothing.
var errStopped = errors.New("it was removed, restarted or replaced meanwhile, or the host is closing")

// TryAgainHint is the hint of an error that says that a plugin did not start.
func TryAgainHint(plugin string) string {
	return remedy.Try.For(plugin)
}

// unavailable is the error for a plugin that does not run, so that nothing was sent to it.
func unavailable(plugin string, cause error, message, hint string) *tool.Error {
	return tool.Errorf(tool.CodeUnavailable, "%s", message).
		Of("", plugin).At(callstage.Start).NeverSent().Because(cause).Fix(hint)
}

// startFailure says that there was no process at all.
type startFailure struct {
	reason string
	err    error
}

func (e *startFailure) Error() string { return e.reason }
func (e *startFailure) Unwrap() error { return e.err }

// isScarce reports whether a start failed for want of something that the host, or the whole
// system, has too little of: that is not the plugin's fault.
func isScarce(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ETXTBSY, syscall.ENOSPC, syscall.EUSERS, syscall.ETOOMANYREFS,
	}, func(e error) bool { return errors.Is(err, e) })
}

// startReason explains why the system would not run a file.
func startReason(path string, err error) error {
	why := err.Error()
	known := new(startFailure)
	switch {
	case errors.As(err, &known):
	case errors.Is(err, syscall.ENOEXEC):
		why = "the system cannot run it: it is not a program for this machine (wrong architecture, half a copy, or a script without #!)"
	case errors.Is(err, fs.ErrNotExist):
		why = "the system cannot run it: the file, or the interpreter or loader that it names, does not exist"
	case errors.Is(err, fs.ErrPermission):
		why = "the system may not run it: check the file's mode and the mount options"
	case errors.Is(err, syscall.ETXTBSY):
		why = "the file is still being written"
	}
	return &startFailure{strings.TrimSpace(why) + ": " + path, err}
}
