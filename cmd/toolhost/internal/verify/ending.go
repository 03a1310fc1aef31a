package verify

import (
	"bytes"
	"context"
	"maps"
	"net"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
)

// checkHealth asks for the plugin's health, and go-plugin's service for it, as a host does of a plugin that is late.
func checkHealth(ctx context.Context, s *subject, p *process) finding {
	if s.offers(wire.FeatureHealth) {
		if f := isWellSoon(ctx, p); f.outcome != Pass {
			return f
		}
	}
	out, err := healthv1.NewHealthClient(p.conn).Check(ctx, &healthv1.HealthCheckRequest{Service: "plugin"})
	switch code := status.Code(err); {
	case (code == codes.Unimplemented || code == codes.NotFound) && s.offers(wire.FeatureHealth):
		return passed
	case code == codes.Unimplemented, code == codes.NotFound:
		return skip("it has no health service")
	case err != nil:
		return failIf(err)
	case out.GetStatus() == healthv1.HealthCheckResponse_NOT_SERVING:
		return fail("it says NOT_SERVING, so that hosts show it as degraded")
	}
	return passed
}

func crashChecks() []Check {
	return []Check{
		check("crash.stranger", "the-inherited-connection", []string{"configure.accepts"},
			"nonsense on a second connection does not end it",
			"let the gRPC server close that connection, and go on", onLive(func(ctx context.Context, _ *subject, p *process) finding {
				path, err := p.socketPath()
				if err != nil {
					return skip("its socket cannot be reached a second time")
				}
				var d net.Dialer
				conn, err := d.DialContext(ctx, "unix", path)
				if err != nil {
					return skip("its socket takes no second connection")
				}
				_, _ = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n\x00\xff\xff"))
				_ = conn.Close()
				return failIf(p.isWell(ctx))
			})),
		check("crash.restart", "rules", []string{"start.twice"}, "after it was killed it starts again",
			"leave nothing that keeps the next process from starting, such as a lock file or a socket at a fixed path",
			func(ctx context.Context, s *subject) finding {
				for _, p := range []*process{s.spare, s.main} {
					if p != nil {
						p.end()
					}
				}
				p, err := s.open(ctx, startOptions{})
				if err != nil {
					return fail("after SIGKILL: %v", err)
				}
				s.spare = p
				return passed
			}),
	}
}

// The limits of what a plugin writes to standard error.
const (
	maxLogLine = 64 << 10 // bytes
	maxLog     = 1 << 20  // bytes of a process, during all that is tried here
	maxWords   = 1000     // characters of its last line
)

func outputChecks() []Check {
	after := []string{"handshake.line"}
	return []Check{
		check("output.stdout", "handshake", after, "nothing is printed to standard output after the handshake line",
			"print to standard error: hosts log the rest of standard output with a warning, or discard it",
			func(_ context.Context, s *subject) finding {
				for _, p := range s.running {
					if n, beginning := p.later(); n > 0 {
						return warn("it printed %d bytes: %s", n, sanitize.Quote(beginning, 100))
					}
				}
				return passed
			}),
		check("output.log", "handshake", after, "its log is plain UTF-8 of less than 1 MiB, in lines of at most 64 KiB",
			"log sizes in place of data, and less by default; switch colours off if standard error is not a terminal; "+
				"end with a short line that says why", eachLog),
		check("output.secrets", "definitions", []string{"calls.valid"},
			"its log, its errors and what it leaves in TMPDIR have no sensitive argument",
			"write which argument it was, and never its value: a host hides it everywhere else", checkSecrets),
	}
}

// eachLog looks at the standard error of each process.
func eachLog(_ context.Context, s *subject) finding {
	var f faults
	for _, p := range s.running {
		if p.hasEnded() && p.state != nil && p.state.ExitCode() > 0 && utf8.RuneCountInString(p.stderr.words()) > maxWords {
			f.add("its last words are a line of more than 1,000 characters")
		}
		text, more := p.stderr.look()
		if len(text) == maxLog && more == nil {
			f.add("a process wrote more than 1 MiB to standard error")
			text = text[:maxLog-utf8.UTFMax] // not in the middle of a character
		}
		if bytes.Contains(text, []byte("\x1b[")) {
			f.add("there are terminal codes in standard error")
		}
		for line := range bytes.Lines(text) {
			if len(line) > maxLogLine {
				f.add("a line of standard error is longer than 64 KiB")
			}
			if !utf8.Valid(line) {
				f.add("standard error is not UTF-8")
			}
		}
	}
	return f.finding(Warn)
}

// shutdown is how a process ended that was asked to.
type shutdown struct {
	*process
	ended   bool     // in time
	err     error    // of asking
	files   []string // in its TMPDIR
	started error    // why there was no process
}

// shutdownTime is how long a host waits for a plugin that was asked to end.
const shutdownTime = 2 * time.Second

// askToEnd starts a process without a namespace, in which all would end with it, and asks it to
// end, once.
func (s *subject) askToEnd(ctx context.Context) *shutdown {
	if s.ended != nil {
		return s.ended
	}
	p, err := s.open(ctx, startOptions{loose: true})
	out := &shutdown{process: p, started: err}
	if s.ended = out; err != nil {
		return out
	}
	defer p.end()
	for _, c := range s.brief(1) {
		_, _ = p.client.Execute(ctx, s.request(c.def.Name, c.args))
	}
	call, cancel := context.WithTimeout(ctx, shutdownTime)
	defer cancel()
	out.err = wire.Shutdown(call, p.conn)
	if out.ended = p.ends(ctx, shutdownTime); out.ended {
		out.files = slices.Sorted(maps.Keys(treeOf(s.temp + endTemp).entries))
	}
	return out
}

func shutdownChecks() []Check {
	ends := func(id, what, do string, after []string, judge func(*shutdown) finding) Check {
		return check(id, "services", after, what, do, func(ctx context.Context, s *subject) finding {
			out := s.askToEnd(ctx)
			if out.started != nil {
				return skip("it does not start: %v", out.started)
			}
			return judge(out)
		})
	}
	return []Check{
		ends("shutdown.served", "plugin.GRPCController is served, so that it can end by itself",
			"serve Shutdown of plugin.GRPCController; without it, a host kills the process", []string{"start.twice"},
			func(out *shutdown) finding {
				return foundIf(status.Code(out.err) == codes.Unimplemented, warn("Shutdown is not served"))
			}),
		ends("shutdown.ends", "it ends within 2 s after Shutdown",
			"end the process when Shutdown is called: stop the server, and do not wait for connections to close", []string{"shutdown.served"},
			func(out *shutdown) finding {
				if status.Code(out.err) == codes.Unimplemented {
					return skip("Shutdown is not served")
				}
				return foundIf(!out.ended, fail("it still runs %v after Shutdown was called", shutdownTime))
			}),
		ends("shutdown.clean", "it ends with status 0 after Shutdown, and leaves no processes or files in TMPDIR",
			"exit with 0: another status counts as a crash; end what it has started, and remove temporary files",
			[]string{"shutdown.ends"},
			func(out *shutdown) finding {
				switch {
				case out.left > 0:
					return fail("%d processes that it started are left", out.left)
				case out.state == nil || !out.state.Success():
					return warn("%s", out.ending())
				case len(out.files) > 0:
					return warn("in TMPDIR is left: %s", named(out.files))
				}
				return passed
			}).unlessFound("resources.kept"),
	}
}
