package verify

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func handshakeChecks() []Check {
	return []Check{
		check("handshake.file", "start", nil,
			"a host runs the file: it is executable, has a plugin's name, and only its owner may write it",
			"do what the reason says: chmod, or another name for the file", checkFile),
		check("handshake.line", "handshake", []string{"handshake.file"},
			"it prints the handshake line within the start timeout",
			"start the gRPC server and then print CORE|APP|unix|PATH|grpc and a newline to standard output, and flush it; "+
				"say on standard error why the plugin cannot start", checkLine),
		check("handshake.first", "handshake", []string{"handshake.line"},
			"nothing is printed to standard output before the handshake line",
			"send logs and banners to standard error; a library that prints when it is loaded has to be silenced",
			func(_ context.Context, s *subject) finding {
				before := s.first.before
				return foundIf(before != "", warn("it printed %s first, for which older hosts refuse it", sanitize.Quote(before, 100)))
			}),
		field("handshake.core", 0, "1", "the version of go-plugin's protocol is 1", "begin the line with 1"),
		field("handshake.version", 1, "1", "the version of the application protocol is one that the host offers",
			"print one of the versions of PLUGIN_PROTOCOL_VERSIONS as the second field"),
		field("handshake.network", 2, "unix", "the network is unix", "listen on a Unix socket: hosts dial nothing else"),
		field("handshake.protocol", 4, "grpc", "the protocol is grpc", "serve gRPC, and say so in the fifth field"),
		field("handshake.tls", 5, "", "no certificate follows: the connection has no TLS",
			"end the line after the fifth field, and serve without TLS"),
		check("handshake.directory", "handshake", []string{"handshake.line", "handshake.network"},
			"the socket lies in PLUGIN_UNIX_SOCKET_DIR",
			"make the socket's path from PLUGIN_UNIX_SOCKET_DIR, and listen before the line is printed",
			func(_ context.Context, s *subject) finding {
				_, err := s.first.socketPath()
				return failIf(err)
			}),
		check("handshake.connects", "services", []string{"handshake.core", "handshake.version", "handshake.protocol", "handshake.tls", "handshake.directory"},
			"HTTP/2 is spoken on the socket", "serve gRPC without TLS on the socket as soon as the line is printed",
			func(ctx context.Context, s *subject) finding {
				return failIf(s.first.connect(ctx, nil))
			}),
	}
}

// field is a check of a field of the handshake line.
func field(id string, at int, want, what, do string) Check {
	return check(id, "handshake", []string{"handshake.line"}, what, do, func(_ context.Context, s *subject) finding {
		got := s.first.field(at)
		return foundIf(got != want, fail("field %d of the line is %s, not %s: %s", at+1, sanitize.Quote(got, 60), cmp.Or(want, "empty"),
			sanitize.Quote(strings.Join(s.first.line, "|"), 150)))
	})
}

// checkFile asks the host's own discovery.
func checkFile(_ context.Context, s *subject) finding {
	found, skipped, err := pluginrun.Discover(filepath.Dir(s.path))
	if err != nil {
		return fail("a host does not use its directory: %s", tool.AsError(err).Message)
	}
	if slices.ContainsFunc(found, func(c plugin.Candidate) bool { return c.Path == s.path }) {
		return passed
	}
	for _, other := range skipped {
		if other.Path == s.path {
			return fail("a host skips it: %s", other.Reason)
		}
	}
	return fail("a host does not see it in %s", filepath.Dir(s.path))
}

func checkLine(ctx context.Context, s *subject) finding {
	p, err := s.start(startOptions{})
	if err != nil {
		return failIf(err)
	}
	s.first, s.main = p, p
	ctx, cancel := s.starting(ctx)
	defer cancel()
	return failIf(p.orEnd(p.greet(ctx)))
}
