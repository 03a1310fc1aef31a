package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/sample"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// call is a call that a plugin should carry out.
type call struct {
	declared
	args  json.RawMessage
	tried bool
	good  bool // it was answered as a call should be
	out   *pluginv1.ExecuteResponse
	took  time.Duration
}

func (c *call) String() string {
	return c.shown() + " " + sanitize.Line(string(c.args[:min(len(c.args), 120)]), 100)
}

// mayCall reports whether a tool may be called with any arguments.
func (s *subject) mayCall(d declared) bool { return d.def.Safety == tool.Safe || s.Dangerous }

// makeCalls makes the calls: those that the author gave, and for each other tool that may be called
// two that are made from its schema.
func (s *subject) makeCalls(ctx context.Context) {
	if s.calls != nil {
		return
	}
	s.calls = []*call{}
	for _, d := range s.tools {
		input, err := schema.CompileInput(d.GetInputSchemaJson())
		if err != nil || d.unread != nil {
			continue
		}
		var all []json.RawMessage
		for _, given := range s.Calls {
			if given.Name == d.GetName() {
				all = append(all, given.Arguments)
			}
		}
		if all == nil && s.mayCall(d) {
			for _, optional := range []bool{true, false} {
				all = append(all, s.marked(ctx, d, input, sample.Arguments(d.def.InputSchema, optional)))
			}
		}
		for i, args := range all {
			if input.Check(ctx, args) == nil && (i == 0 || string(args) != string(all[i-1])) {
				s.calls = append(s.calls, &call{declared: d, args: args})
			}
		}
	}
	// Those that only read come first, so that it can be seen whether they do.
	slices.SortStableFunc(s.calls, func(a, b *call) int { return int(a.def.Safety.Effective()) - int(b.def.Safety.Effective()) })
}

// request is a call as it is sent.
func (s *subject) request(name string, args []byte) *pluginv1.ExecuteRequest {
	id := fmt.Sprintf("verify-%d", s.sent.Add(1))
	return &pluginv1.ExecuteRequest{Id: id, Tool: name, ArgumentsJson: args, Session: "verify"}
}

// The limits of calls that are made again.
const (
	againTime   = 2 * time.Second       // for all of them, by what they took first
	quickTime   = 50 * time.Millisecond // of one that is made many times
	repeatTime  = time.Second           // of one that is made a few times
	repeatSize  = 1 << 20               // of its answer, in bytes
	manyAtATime = 8                     // how many times as long that many calls at a time take
)

// quick returns the calls that were answered well, took less than a time and are small, the quickest first.
func (s *subject) quick(limit time.Duration) (out []*call) {
	for _, c := range s.calls {
		if c.good && c.took < limit && len(c.args) < chunkSize && proto.Size(c.out) < repeatSize {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *call) int { return cmp.Compare(a.took, b.took) })
	return out
}

// brief returns the quick calls that can be made so many times more within a bound; all if they may take long.
func (s *subject) brief(times int) (out []*call) {
	limit, left := repeatTime, againTime
	if s.Long {
		limit, left = s.Timeout, time.Hour
	}
	for _, c := range s.quick(limit) {
		if left -= time.Duration(times) * c.took; left >= 0 {
			out = append(out, c)
		}
	}
	return out
}

// each returns the calls that were answered well in their order, as one may need what another leaves. If they took
// long, it is the quicker one of each tool.
func (s *subject) each() (out []*call) {
	var took time.Duration
	quickest := map[string]*call{}
	for _, c := range s.calls {
		if c.good {
			out, took = append(out, c), took+c.took
			if other := quickest[c.def.Name]; other == nil || c.took < other.took {
				quickest[c.def.Name] = c
			}
		}
	}
	if took <= againTime || s.Long {
		return out
	}
	return slices.DeleteFunc(out, func(c *call) bool { return quickest[c.def.Name] != c })
}

// filler returns a call of which many can be made: the quickest of those that were answered well or,
// if there is none, of a tool that does not exist.
func (s *subject) filler() (name string, args []byte, err error) {
	if quick := s.quick(quickTime); len(quick) > 0 {
		return quick[0].def.Name, quick[0].args, nil
	}
	if s.outcome("calls.unknown") == Pass {
		return noTool, nil, nil
	}
	return "", nil, errors.New("no tool may be called, and one that does not exist is not refused")
}

// noTool is the name of a tool that does not exist.
const noTool = "toolhost.verify.no_such_tool"

var unknownCalled = noted("no call of its tools is quick and may be made, so one that does not exist was called; give --call TOOL=JSON")

func callChecks() []Check {
	after := []string{"configure.accepts"}
	valid := []string{"calls.valid"}
	return []Check{
		check("calls.unknown", "rules", after, "a call of a tool that does not exist ends with the error not_found",
			"answer ExecuteResponse.error with the code not_found, and the gRPC status OK", onLive(checkUnknown)),
		check("calls.valid", "rules", after, "tools take the arguments that their schemas allow",
			"let the schema say all that the tool expects; return ExecuteResponse with a result or an error, and never a gRPC status; "+
				"give verify --call TOOL=JSON where arguments cannot be guessed", checkValid),
		check("calls.first", "rules", valid, "no first call takes 5 s that is quicker later",
			"begin to load when the process starts, without waiting for it before the handshake", onLive(checkFirst)),
		check("calls.sessions", "rules", valid, "no session is shown what another sent",
			"keep what calls leave by ExecuteRequest.session, or keep nothing", foreign(2, 1, 2, "session leak: %s answers with a text that another session sent")),
		check("calls.reads", "definitions", valid, "tools that say they are safe change nothing in the workspace",
			"say cautious or dangerous: safe tools are called without asking anyone",
			func(_ context.Context, s *subject) finding {
				if !slices.ContainsFunc(s.calls, func(c *call) bool { return c.tried && c.def.Safety == tool.Safe }) {
					return skip("no safe tool was called")
				}
				return s.reads
			}),
		check("calls.content", "rules", valid,
			"each block of a result has content, and media and resources have a type or a URI",
			"set one kind of block in each Content, mime_type of images and sound, and uri of resources",
			eachAnswer(Fail, contentFault)),
		check("calls.output", "definitions", valid, "results fit the output schemas",
			"correct structured_json or the output schema: a host refuses the result", eachAnswer(Fail, outputFault)),
		check("calls.codes", "rules", valid, "errors have codes that plugins may send, and a message",
			"use a code of docs/reference/errors.md, such as invalid_arguments; a tool's own failure is a result with is_error",
			eachAnswer(Fail, errorFault)),
		check("calls.empty", "rules", valid, "empty arguments mean {}", "read empty arguments_json as {}",
			again("each tool that may be called needs arguments", tryEmpty)),
		check("calls.invalid", "rules", valid, "arguments of the wrong types, and long texts, do not end it",
			"catch the exception, and answer with the error invalid_arguments",
			badArguments(func(d declared) [][]byte {
				long := bytes.ReplaceAll(sample.Arguments(d.def.InputSchema, true), []byte(`:"text"`),
					[]byte(`:"`+strings.Repeat("text ", 2000)+`"`))
				return [][]byte{spoilt(d.def.InputSchema), long, []byte(`{"unknown":{"a":[null]}}`)}
			})),
		check("calls.malformed", "rules", append(valid, "calls.invalid"),
			"arguments that are not a JSON object do not end it",
			"catch the error of parsing, and answer with the error invalid_arguments",
			badArguments(func(declared) [][]byte {
				return [][]byte{[]byte(`{`), []byte(`[]`), []byte(`null`), {0xff, 0}, []byte(strings.Repeat(`[`, 100_000))}
			})),
		check("calls.idempotent", "definitions", valid,
			"a second call of a tool that says it is idempotent changes nothing more",
			"remove idempotent: hosts repeat calls of such tools",
			again("no tool that was called says that it is idempotent", trySecond)),
		check("calls.preview", "preview", append(valid, "services.preview"),
			"previews change nothing in the workspace",
			"compute what the call would do without doing it: the preview is shown before the call is allowed",
			again("no tool that may be called has a preview", tryPreview)),
	}
}

func checkUnknown(ctx context.Context, s *subject, p *process) finding {
	began := time.Now()
	out, err := p.client.Execute(ctx, s.request(noTool, []byte(`{}`)))
	s.unknown = time.Since(began)
	switch {
	case err != nil:
		return failIf(err)
	case out.GetError() == nil:
		return fail("it answers with a result")
	case tool.Code(out.GetError().GetCode()) != tool.CodeNotFound:
		return fail("the code of the error is %s", sanitize.Quote(out.GetError().GetCode(), 40))
	}
	return passed
}

// maxHung is how many calls may hang before no more are tried.
const maxHung = 3

func checkValid(ctx context.Context, s *subject) finding {
	s.makeCalls(ctx)
	var f faults
	before := s.watch(s.root)
	seen := sync.OnceFunc(func() { s.reads = before.changed("the safe tools were called") })
	hung := map[string]bool{}
	for _, c := range s.calls {
		if hung[c.def.Name] || len(hung) == maxHung {
			continue
		}
		if c.def.Safety != tool.Safe {
			seen()
		}
		p, err := s.live(ctx)
		if err != nil {
			return failIf(err)
		}
		began := time.Now()
		c.tried = true
		c.out, err = p.client.Execute(ctx, s.request(c.def.Name, c.args))
		c.took = time.Since(began)
		if status.Code(err) == codes.DeadlineExceeded {
			hung[c.def.Name] = true
		}
		switch refused := c.out.GetError(); {
		case err != nil:
			f.add("%s: %v", c, err)
		case c.out.GetOutcome() == nil:
			f.add("%s: the answer has neither a result nor an error", c)
		case tool.Code(refused.GetCode()) == tool.CodeInvalidArguments:
			f.add("%s, which its schema allows, is refused: %s", c, sanitize.Line(refused.GetMessage(), 200))
		default:
			c.good = true
		}
	}
	seen()
	if len(s.calls) == 0 {
		return skip("no tool is safe and has arguments that can be made from its schema; give --call TOOL=JSON")
	}
	return f.finding(Fail)
}

// again is a check that makes calls once more that were answered well. A call that try skips was not tried.
func again(nothing string, try func(context.Context, *subject, *process, *call) finding) runner {
	return func(ctx context.Context, s *subject) finding {
		var f faults
		tried := false
		for _, c := range s.brief(1) {
			p, err := s.live(ctx)
			if err != nil {
				return failIf(err)
			}
			found := try(ctx, s, p, c)
			if tried = tried || found.outcome != Skip; found.outcome == Fail {
				f.add("%s", found.why)
			}
		}
		if !tried {
			return skip("%s", nothing)
		}
		return f.finding(Fail)
	}
}

func tryEmpty(ctx context.Context, s *subject, p *process, c *call) finding {
	input, err := schema.CompileInput(c.def.InputSchema)
	if err != nil || !s.mayCall(c.declared) || input.Check(ctx, []byte(`{}`)) != nil {
		return skip("it needs arguments")
	}
	out, err := p.client.Execute(ctx, s.request(c.def.Name, nil))
	if err != nil {
		return fail("%s without arguments: %v", c.shown(), err)
	}
	if e := out.GetError(); tool.Code(e.GetCode()) == tool.CodeInvalidArguments {
		return fail("%s without arguments is refused: %s", c.shown(), sanitize.Line(e.GetMessage(), 200))
	}
	return passed
}

// badArguments is a check of calls that a host would not have made.
func badArguments(of func(declared) [][]byte) runner {
	return func(ctx context.Context, s *subject) finding {
		var f, statuses faults
		tried := 0
		for _, d := range s.tools {
			if !s.mayCall(d) {
				continue
			}
			for _, args := range of(d) {
				p, err := s.live(ctx)
				if err != nil {
					return failIf(err)
				}
				tried++
				_, err = p.client.Execute(ctx, s.request(d.GetName(), args))
				if err == nil {
					continue
				}
				what := d.shown() + " " + sanitize.Quote(string(args[:min(len(args), 100)]), 60)
				if code := status.Code(err); p.ends(ctx, endGrace) || code == codes.DeadlineExceeded || code == codes.Unavailable {
					f.add("%s: %v", what, err)
					break
				}
				statuses.add("%s: %v", what, err)
			}
		}
		switch {
		case tried == 0:
			return skip("no tool is safe")
		case len(f) > 0:
			return f.finding(Fail)
		}
		return statuses.finding(Warn)
	}
}

func trySecond(ctx context.Context, s *subject, p *process, c *call) finding {
	if !c.def.Idempotent {
		return skip("it is not idempotent")
	}
	before := treeOf(s.root)
	out, err := p.client.Execute(ctx, s.request(c.def.Name, c.args))
	if err != nil {
		return fail("%s, the second time: %v", c, err)
	}
	if done := before.changed("the second call"); done.outcome == Fail {
		return fail("%s: %s", c, done.why)
	}
	if (c.out.GetError() == nil) != (out.GetError() == nil) || c.out.GetResult().GetIsError() != out.GetResult().GetIsError() {
		return fail("%s succeeds once and fails the other time", c)
	}
	return passed
}

func tryPreview(ctx context.Context, s *subject, p *process, c *call) finding {
	before := s.watch(s.root)
	out, err := p.client.Preview(ctx, s.request(c.def.Name, c.args))
	switch {
	case err != nil:
		return fail("%s: %v", c, err)
	case tool.Code(out.GetError().GetCode()) == tool.CodeNotFound:
		return skip("it has no preview")
	}
	if done := before.changed("the preview"); done.outcome == Fail {
		return fail("%s: %s", c, done.why)
	}
	return passed
}
