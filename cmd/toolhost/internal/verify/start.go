package verify

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
)

func startChecks() []Check {
	return []Check{
		check("start.twice", "handshake", []string{"configure.accepts"},
			"two processes of it run at the same time, as during an upgrade",
			"use no fixed port, lock file or path: all that a process makes lies in directories of its own",
			func(ctx context.Context, s *subject) finding {
				if _, err := s.live(ctx); err != nil {
					return failIf(err)
				}
				p, err := s.open(ctx, startOptions{})
				if err != nil {
					return fail("while one runs, the second: %v", err)
				}
				s.spare = p
				if err := s.main.isWell(ctx); err != nil {
					return fail("since the second was started, the first: %v", err)
				}
				return passed
			}),
		check("start.by_hand", "start", []string{"handshake.line"},
			"started by hand, it says that it is a plugin and ends, or is an MCP server",
			"look at TOOLHOST_PLUGIN first; without it print a sentence to standard error and exit with a status that is not 0",
			checkByHand),
		check("start.newer", "start", []string{"start.twice"},
			"a host that offers a further version gets version 1",
			"look for 1 in the list of PLUGIN_PROTOCOL_VERSIONS, and do not compare the whole variable",
			func(ctx context.Context, s *subject) finding {
				p, err := s.connected(ctx, startOptions{set: twoVersions})
				if err != nil {
					return fail("with %s: %v", twoVersions, err)
				}
				defer p.end()
				v := p.field(1)
				return foundIf(v != "1", fail("with %s it announces version %s, which does not exist", twoVersions, sanitize.Quote(v, 20)))
			}),
		check("start.inherited", "the-inherited-connection", []string{"start.twice"},
			"with TOOLHOST_GRPC_FD it serves gRPC on the descriptor, or ignores it",
			"write the greeting before the handshake line and serve on the descriptor, without a socket; "+
				"or leave the descriptor alone", checkInherited),
		check("start.time", "handshake", []string{"start.twice"},
			"it is ready within 2 s: a session's first call waits",
			"load what calls need when the first call needs it, and not before the handshake",
			func(_ context.Context, s *subject) finding {
				s.mu.Lock()
				defer s.mu.Unlock()
				return foundIf(s.fastest > 2*time.Second, warn("its fastest start took %v", s.fastest.Round(10*time.Millisecond)))
			}),
		check("start.workspace", "start", []string{"start.twice"},
			"it starts in a path with spaces and letters that are not ASCII",
			"pass paths as they are: quote them for shells, and do not split them at spaces", checkAway),
		check("start.clean", "start", []string{"start.workspace"},
			"it writes nothing into the workspace before it is called",
			"keep state in memory, or declare write: cache and keep files in XDG_CACHE_HOME",
			func(_ context.Context, s *subject) finding { return s.clean }),
		check("start.repeats", "tools-that-change", []string{"start.workspace", "describe.again"},
			"another process, workspace and date, by the time zone, have the same description: locks pin it",
			"let the description depend on the version alone: no paths, dates, random names, machine names or orders of maps",
			checkRepeats),
	}
}

// checkAway starts it elsewhere, and keeps what two other checks look at.
func checkAway(ctx context.Context, s *subject) finding {
	root := filepath.Join(s.dir, "work space é")
	if err := os.Mkdir(root, 0o700); err != nil {
		return skip("%v", err)
	}
	before := s.watch(root)
	p, err := s.open(ctx, startOptions{root: root, set: otherDate()})
	if err != nil {
		return fail("in %q: %v", root, err)
	}
	defer p.end()
	s.away, s.clean = p.about, before.changed("it has started")
	return passed
}

// otherDate is a time zone with another date than that of this process: of two that are 26 hours apart, one has.
func otherDate() string {
	now := time.Now()
	if now.In(time.FixedZone("", int((14*time.Hour).Seconds()))).Day() != now.Day() {
		return "TZ=Etc/GMT-14"
	}
	return "TZ=Etc/GMT+12"
}

// checkRepeats compares descriptions. If they differ, further processes tell by what.
func checkRepeats(ctx context.Context, s *subject) finding {
	differs := sameDescription(s.about, s.away)
	if differs.outcome == Pass {
		return s.undated()
	}
	when := "in another workspace"
	for _, one := range []struct {
		when string
		startOptions
	}{{"in another process", startOptions{}}, {"at another date, by its time zone", startOptions{set: otherDate()}}} {
		p, err := s.open(ctx, one.startOptions)
		if err != nil {
			return skip("%v", err)
		}
		p.end()
		if f := sameDescription(s.about, p.about); f.outcome != Pass {
			when, differs = one.when, f
			break
		}
	}
	return fail("%s: %s", when, differs.why)
}

// undated looks for the date in the description, which another time zone does not change if it is that of UTC. A date
// that the program's file has is that of a release.
func (s *subject) undated() finding {
	program, err := os.ReadFile(s.path)
	if err != nil {
		return skip("%v", err)
	}
	said := s.about.String()
	for _, now := range []time.Time{s.first.began.UTC(), time.Now().UTC()} {
		forms := []string{strconv.FormatInt(now.Unix()/1000, 10)} // without the last digits
		for _, layout := range []string{time.DateOnly, "2006/01/02", "02.01.2006", "Jan _2 15", "Jan 2, 2006", "January 2, 2006", "2 Jan 2006", "2 January 2006"} {
			forms = append(forms, now.Format(layout))
		}
		for _, date := range forms {
			if strings.Contains(said, date) && !bytes.Contains(program, []byte(date)) {
				return fail("it has today's date, %s, so that tomorrow's description is another one", date)
			}
		}
	}
	return passed
}

func checkByHand(ctx context.Context, s *subject) finding {
	p, err := s.start(startOptions{byHand: true})
	if err != nil {
		return failIf(err)
	}
	defer func() {
		p.end()
		p.stderr.last = time.Time{} // what it says has nothing to do with what fails later
	}()
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	for {
		first, more := p.stdout.look()
		if bytes.Contains(first, []byte(`"jsonrpc"`)) {
			return passed
		}
		if more == nil || p.await(ctx, more) != nil {
			break
		}
	}
	if !p.ends(ctx, s.Timeout) {
		return fail("it still runs after %v", s.Timeout)
	}
	said := p.stdout.tail() + p.stderr.tail()
	switch {
	case p.state != nil && p.state.Success():
		return warn("it exits with status 0, as if all was well")
	case strings.TrimSpace(said) == "":
		return warn("it says nothing, so that a person does not learn what it is")
	}
	return passed
}

func checkInherited(ctx context.Context, s *subject) finding {
	p, err := s.start(startOptions{inherit: wire.GRPCVariable})
	if err != nil {
		return failIf(err)
	}
	defer p.end()
	start, cancel := s.starting(ctx)
	defer cancel()
	if err := p.greet(start); err != nil {
		return fail("with %s: %v", wire.GRPCVariable, err)
	}
	said := make([]byte, len(wire.Greeting))
	_ = p.ours.SetReadDeadline(time.Now().Add(greetingTime))
	n, err := io.ReadFull(p.ours, said)
	_ = p.ours.SetReadDeadline(time.Time{})
	switch {
	case n == 0 && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.EOF)):
		if err := p.connect(start, nil); err != nil {
			return fail("it ignores %s, and then: %v", wire.GRPCVariable, err)
		}
		return failIf(s.prepare(ctx, p))
	case !bytes.Equal(said[:n], []byte(wire.Greeting)):
		return fail("it wrote %s to the descriptor before its handshake, which is not the greeting %q",
			sanitize.Quote(string(said[:n]), 60), wire.Greeting)
	}
	if err = p.connect(start, p.ours); err == nil {
		err = s.prepare(ctx, p)
	}
	if err != nil {
		return fail("it wrote the greeting to the descriptor, and then: %v", err)
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return skip("%v", err)
	}
	return foundIf(slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Type() == os.ModeSocket }),
		warn("it serves on the descriptor and also listens on a socket, to which other processes can connect"))
}

// greetingTime is how long a greeting may take once the handshake line is read: it was written
// before, so it is there.
const greetingTime = 100 * time.Millisecond
