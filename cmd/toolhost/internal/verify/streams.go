package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func streamChecks() []Check {
	after := []string{"stream.opens", "calls.unknown"}
	return []Check{
		check("stream.opens", "stream", []string{"start.twice", "calls.unknown"},
			"with the feature stream, Stream answers calls as Execute does",
			"read frames from the concatenated packets and answer each call with a result frame; or do not name the feature",
			func(ctx context.Context, s *subject) finding {
				if !s.offers(wire.FeatureStream) {
					return skip("it does not name the feature stream")
				}
				return s.onLane(ctx, func(ctx context.Context, l *lane) error { return s.ask(ctx, l, 1, nil) })
			}),
		onLane("stream.packets", "the boundaries between packets have no meaning",
			"collect bytes until a header and its payload are there, whatever packets they come in",
			func(ctx context.Context, s *subject, l *lane) error {
				l.pieces = true
				return s.ask(ctx, l, 2, nil)
			}, after),
		onLane("stream.newer", "frames of an unknown kind are skipped", "skip the payload of a frame whose kind is not known",
			func(ctx context.Context, s *subject, l *lane) error {
				if err := l.frame(kindNew, 7, 0, []byte("of a later version")); err != nil {
					return err
				}
				return s.ask(ctx, l, 1, nil)
			}, after),
		onLane("stream.chunks", "a call of 1 MiB arrives in chunks, for which it sends windows",
			"collect chunks until the call frame, and send a window frame for what was taken",
			func(ctx context.Context, s *subject, l *lane) error { return s.ask(ctx, l, 1, padded(1<<20)) }, after),
		onLane("stream.results", "256 calls at a time have their own results",
			"put the number of the call into its result frame; answer each call once",
			func(ctx context.Context, s *subject, l *lane) error { return s.ask(ctx, l, 256, nil) }, after),
		check("stream.socket", "the-socket-carrier", after,
			"with TOOLHOST_STREAM_FD and the feature socket, it serves the stream on the descriptor",
			"read and write frames on the descriptor without packets; or ignore the variable and do not name the feature",
			checkSocket),
		check("stream.frames", "stream", []string{"stream.opens"},
			"its frames keep the rules of sizes, windows, numbers and results",
			"compare what the reason names with the tables of frames",
			func(_ context.Context, s *subject) finding { return s.lanes.finding(Fail) }).unlessFound("stream.*", "cancel.*"),
	}
}

// padded returns arguments of a size.
func padded(size int) json.RawMessage {
	return json.RawMessage(`{"padding":"` + strings.Repeat("x", size) + `"}`)
}

// onLane is a check on a stream of its own.
func onLane(id, what, do string, try func(context.Context, *subject, *lane) error, after []string) Check {
	return check(id, "stream", after, what, do, func(ctx context.Context, s *subject) finding {
		return s.onLane(ctx, func(ctx context.Context, l *lane) error { return try(ctx, s, l) })
	})
}

// onLane opens a stream in a process of its own, as a plugin serves one: a host opens no second. That the plugin
// breaks a rule of frames on it is kept for the check of them, unless no call is answered at all.
func (s *subject) onLane(ctx context.Context, use func(context.Context, *lane) error) finding {
	p, err := s.open(ctx, startOptions{})
	if err != nil {
		return failIf(err)
	}
	defer p.end()
	l, err := p.openLane(ctx)
	if err != nil {
		return failIf(err)
	}
	defer l.stop()
	err = use(ctx, l)
	switch {
	case l.broken != nil && (err == nil || s.outcome("stream.opens") == Pass):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lanes.add("%v", l.broken)
		return passed
	case err != nil && p.hasEnded():
		return fail("%v; %s", err, p.ending())
	}
	return failIf(err)
}

// ask makes calls at a time of tools that do not exist, which each plugin can answer.
func (s *subject) ask(ctx context.Context, l *lane, calls int, args json.RawMessage) error {
	stream := wire.NewStream(l, wire.StreamHooks{})
	defer func() { _ = stream.Close() }()
	var all errgroup.Group
	for i := range calls {
		all.Go(func() error { return s.refused(ctx, stream, tool.Call{Name: fmt.Sprint(noTool, i), Arguments: args}) })
	}
	err := all.Wait()
	if why := stream.Err(); errors.Is(why, wire.ErrProtocol) {
		l.broken = errors.New(tool.AsError(why).Message)
	}
	return err
}

func checkSocket(ctx context.Context, s *subject) finding {
	p, err := s.connected(ctx, startOptions{inherit: wire.SocketVariable})
	if err != nil {
		return fail("with %s: %v", wire.SocketVariable, err)
	}
	defer p.end()
	if err := s.prepare(ctx, p); err != nil {
		return fail("with %s: %v", wire.SocketVariable, err)
	}
	if !slices.Contains(p.about.GetFeatures(), wire.FeatureSocket) {
		return skip("it does not name the feature socket")
	}
	stream := wire.NewStream(wire.NewSocket(p.ours), wire.StreamHooks{})
	defer func() { _ = stream.Close() }()
	return failIf(s.refused(ctx, stream, tool.Call{Name: noTool}))
}

func cancelChecks() []Check {
	return []Check{
		onLane("cancel.result", "a call that is cancelled on the stream gets a result frame within 2 s",
			"end the work of a cancelled call, and answer with any error; a host ends a plugin that leaves 1,024 without",
			checkCancelled, []string{"stream.opens"}),
		onLane("cancel.partial", "also one that is cancelled on its way",
			"forget the chunks, and answer with any error",
			func(_ context.Context, s *subject, l *lane) error {
				err := errors.Join(l.frame(kindChunk, 1, 1<<20, make([]byte, chunkSize)), l.frame(kindCancel, 1, 0, nil))
				if err == nil {
					err = l.answered(1, s.Timeout)
				}
				if err != nil {
					return err
				}
				return l.ask(2, s.request(noTool, nil))
			}, []string{"stream.opens", "stream.chunks"}),
		check("cancel.call", "services", []string{"configure.accepts", "calls.unknown"},
			"cancelled calls leave others and the processor alone",
			"end the work of a call whose gRPC context ends, and keep what calls share consistent", onLive(checkGivenUp)),
	}
}

func concurrencyChecks() []Check {
	after := []string{"configure.accepts", "calls.unknown"}
	return []Check{
		check("concurrency.calls", "services", after, "64 calls at a time are all answered: 6,000, or those of 5 s",
			"run calls side by side, with locks around what they share; a pool of few workers must not be held up by one slow call",
			during(6000, func(context.Context, *process) error { return nil })),
		check("concurrency.describe", "tools-that-change", append(after, "concurrency.calls"),
			"Describe is answered while calls run", "hold no lock during a call that Describe takes",
			during(side, func(ctx context.Context, p *process) error { return p.isWell(ctx) })),
		check("concurrency.answers", "rules", []string{"calls.sessions"}, "16 calls at a time have their own answers",
			"keep what belongs to a call in the call, and not in a variable that calls share",
			foreign(16, 16, manyAtATime, "answers mixed up: %s answers with a text of another call that runs at the same time")),
	}
}

// The calls that are made at a time, and how long more of them are made.
const (
	side     = 64
	manyTime = 5 * time.Second
)

// during is a check that makes many calls and does something meanwhile. All are to be answered in the same way.
func during(most int64, do func(context.Context, *process) error) runner {
	return onLive(func(ctx context.Context, s *subject, p *process) finding {
		name, args, err := s.filler()
		if err != nil {
			return skip("%v", err)
		}
		until := time.Now().Add(manyTime)
		var all errgroup.Group
		var made, answered, refused atomic.Int64
		for range side {
			all.Go(func() error {
				for n := made.Add(1); n <= side || n <= most && !s.Fast && (s.Long || time.Now().Before(until)); n = made.Add(1) {
					out, err := p.client.Execute(ctx, s.request(name, args))
					if err != nil {
						return fmt.Errorf("of %d calls at a time, number %d: %w", side, n, err)
					}
					if answered.Add(1); out.GetError() != nil {
						refused.Add(1)
					}
				}
				return nil
			})
		}
		meanwhile := do(ctx, p)
		err = all.Wait()
		switch n, of := refused.Load(), answered.Load(); {
		case err != nil:
			return failIf(err)
		case n != 0 && n != of:
			return fail("of %d equal calls, %d at a time, %d end with an error", of, side, n)
		case meanwhile != nil:
			return fail("while %d calls ran: %v", side, meanwhile)
		case name == noTool:
			return unknownCalled
		case of < most:
			return noted("%d calls were made; --long makes %d, whatever time they take", of, most)
		}
		return passed
	})
}

func sizeChecks() []Check {
	return []Check{
		check("size.request", "rules", []string{"configure.accepts", "calls.unknown"}, "a call of 8 MiB arrives",
			"raise the limit of the gRPC server for messages that it receives from 4 MiB to 64 MiB",
			onLive(func(ctx context.Context, s *subject, p *process) finding {
				_, err := p.client.Execute(ctx, s.request(noTool, padded(8<<20)))
				return failIf(err)
			})),
		check("size.result", "rules", []string{"calls.valid"},
			"results have less than 1 MiB of text",
			"return less: a part, a summary, or a limit as an argument", eachAnswer(Warn, func(_ context.Context, c *call) string {
				text := 0
				for _, block := range c.out.GetResult().GetContent() {
					text += len(block.GetText().GetText())
				}
				if text > 1<<20 {
					return fmt.Sprintf("%d bytes of text", text)
				}
				return ""
			})),
	}
}
