package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/state", s.state)
	mux.HandleFunc("GET /v1/tools", s.tools)
	mux.HandleFunc("POST /v1/call", s.call)
	mux.HandleFunc("DELETE /v1/calls/{id}", s.cancel)
	mux.HandleFunc("GET /v1/calls/{id}/preview", s.preview)
	mux.HandleFunc("POST /v1/calls/{id}/approval", s.approve)
	mux.HandleFunc("GET /v1/approvals", operator(s.approvals))
	mux.HandleFunc("POST /v1/approvals", operator(s.ask))
	mux.HandleFunc("GET /v1/approvals/{id}", operator(s.question))
	mux.HandleFunc("POST /v1/approvals/{id}", operator(s.answer))
	mux.HandleFunc("POST /v1/calls/{id}/answers", s.answerTool)
	mux.HandleFunc("GET /v1/sessions", s.sessions)
	mux.HandleFunc("DELETE /v1/sessions/{name}", s.endSession)
	mux.HandleFunc("POST /v1/plugins/{name}/restart", s.do("plugins restart", func(ctx context.Context, r *http.Request) error {
		return s.service.RestartPlugin(ctx, r.PathValue("name"))
	}))
	mux.HandleFunc("POST /v1/plugins/{name}/rollback", s.do("", func(ctx context.Context, r *http.Request) error {
		return s.service.RollbackPlugin(ctx, r.PathValue("name"))
	}))
	mux.HandleFunc("POST /v1/plugins/{name}/sync", s.do("", func(ctx context.Context, r *http.Request) error {
		return s.service.ApplyPlugin(ctx, r.PathValue("name"))
	}))
	mux.HandleFunc("GET /v1/plugins/{name}/logs", operator(s.logs))
	mux.HandleFunc("GET /v1/plugins/{name}/sandbox", operator(s.sandbox))
	mux.HandleFunc("POST /v1/stop", operator(func(w http.ResponseWriter, r *http.Request) {
		s.record(r, audit.Record{Action: "stop"}, nil)
		reply(w, stopping{tool.Duration(s.service.Stop())})
	}))
	mux.HandleFunc("GET /v1/fleet/hosts", operator(s.fleetHosts))
	mux.HandleFunc("GET /v1/fleet/tools", operator(s.fleetTools))
	mux.HandleFunc("POST /v1/fleet/hosts/{name}/drain", s.drainHost(true))
	mux.HandleFunc("POST /v1/fleet/hosts/{name}/resume", s.drainHost(false))
	mux.HandleFunc("GET "+durablePath, s.durably(s.durableCalls))
	mux.HandleFunc("GET "+durablePath+"/{id}", s.durably(s.durableCall))
	mux.HandleFunc("GET "+durablePath+"/{id}/wait", s.waitDurable)
	mux.HandleFunc("POST "+durablePath+"/{id}/cancel", s.durably(s.cancelDurable))
	numbers := operator(s.numbers(s.service.Numbers()))
	mux.HandleFunc("GET /metrics", numbers)
	mux.HandleFunc("GET /debug/pprof/", numbers)
	mux.HandleFunc("GET /v1/waiting", operator(func(w http.ResponseWriter, r *http.Request) {
		s.replyLarge(w, r, s.service.Waiting())
	}))
	mux.HandleFunc("POST /v1/reload", s.do("reload", func(ctx context.Context, r *http.Request) error {
		return s.service.Reload(ctx, r.URL.Query()["accept"])
	}))
	mux.HandleFunc("POST /v1/refresh", s.do("", func(ctx context.Context, _ *http.Request) error {
		return s.service.Refresh(ctx)
	}))
	return mux
}

// numbers bounds how many read numbers and profiles at a time, and for how long.
func (s *Server) numbers(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end, err := s.beginWork(r)
		if err != nil {
			fail(w, http.StatusServiceUnavailable, err)
			return
		}
		defer end()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(numbersTimeout))
		next.ServeHTTP(w, r)
	}
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	state := s.service.State()
	s.mu.Lock()
	state.Draining, state.Approvals = s.draining, s.service.Approvals().Len()
	s.mu.Unlock()
	s.replyLarge(w, r, state)
}

func (s *Server) tools(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Has("name") {
		found := []host.Tool{}
		if t, ok := s.service.Get(callerOf(r), q.Get("name")); ok {
			found = append(found, t)
		}
		s.replyLarge(w, r, sentTools(found))
		return
	}
	level, err := tool.ParseSafety(q.Get("max_safety"))
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	s.replyLarge(w, r, sentTools(s.service.Tools(callerOf(r), host.Filter{
		MaxSafety: level, Categories: q["category"], Search: q.Get("search"),
	})))
}

// call answers with lines until the call has ended. After the first line, errors are in the
// last.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	c, err := parseCall(r.URL.Query())
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	body, release, err := s.readBody(w, r)
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	defer release()
	c.Arguments = body
	out := newLines(w)
	run := newRunningCall(s, r, out)
	if err := s.addCall(run); err != nil {
		run.cancel(nil)
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	defer s.removeCall(run)
	if out.sendNow(event{Event: eventBegin, ID: run.id}) != nil {
		return // the client is gone
	}
	var asked policy.Approver
	if r.URL.Query().Get("ask") == "true" {
		asked = run
	}
	ctx := run.ctx
	if r.URL.Query().Get("questions") == "true" {
		ctx = tool.WithAsker(ctx, run.Ask)
	}
	if r.URL.Query().Get("deltas") == "true" {
		ctx = tool.WithDeltas(ctx, run.show)
	}
	c.Told = run.submitted
	_ = s.sendAnswer(out, run.caller, s.service.Call(ctx, run.caller, c, asked)) // an answer that is not read is on record
}

// sendAnswer sends an answer, or an error if it cannot be sent: its structured part is not
// JSON, or callers hold too much already.
func (s *Server) sendAnswer(out *lines, by Caller, a Answer) error {
	n := a.size()
	if n > largeAnswer {
		defer returnMemory()
	}
	release, err := reserve(s.answers, by, n, "an answer")
	switch {
	case err != nil:
		a = a.Failed(tool.Errorf(tool.CodeResourceExhausted,
			"tool %s ran, and its answer of %d bytes is lost: %w", a.Outcome.Name, n, err).
			Of(a.Outcome.Name, "").At(callstage.Output).
			Try("make fewer calls with large answers at a time, or ask for less at once"))
	case len(a.Result.Structured) > 0 && !json.Valid(a.Result.Structured):
		a = a.Failed(tool.Errorf(tool.CodeInvalidResult,
			"the result of tool %s cannot be sent: its structured part is not JSON", a.Outcome.Name).
			Of(a.Outcome.Name, "").At(callstage.Output).Try("report this to the plugin's author"))
	}
	defer release()
	return out.sendAnswer(a)
}

// parseCall reads what a request says in addition to the arguments.
func parseCall(q url.Values) (Call, error) {
	c := Call{
		Name: q.Get("name"), Session: q.Get("session"), On: q.Get("on"), Yes: q.Get("yes") == "true", Detach: q.Get("detach") == "true",
		IdempotencyKey: q.Get("key"),
	}
	if c.Session != "" {
		if err := CheckSession(c.Session); err != nil {
			return c, err
		}
	}
	for _, word := range q["grant"] {
		grant := tool.Capability(word)
		if !grant.Valid() {
			return c, tool.Errorf(tool.CodeInvalidArguments, "%.40q is not a valid capability", word)
		}
		c.Grants = append(c.Grants, grant)
	}
	if text := q.Get("timeout"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return c, tool.Errorf(tool.CodeInvalidArguments, "%.40q is not a duration such as 30s", text)
		}
		c.Timeout = d
	}
	return c, nil
}

// readBody reads all of a body in bounded time, so that the server can notice when the client
// goes. Release frees the memory that the body counts for.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	connectionOf(r).owes(true)
	defer connectionOf(r).owes(false)
	size := int(min(r.ContentLength, MaxArguments))
	if size < 0 { // the client does not say
		size = MaxArguments
	}
	release, held := reserve(s.arguments, callerOf(r), size, "the request")
	if held != nil {
		// The client reads the answer once it has sent everything.
		_ = within(bodyTimeout, w, func() error {
			_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, MaxArguments))
			return err
		})
		return nil, nil, held
	}
	var text bytes.Buffer
	if r.ContentLength > 0 {
		text.Grow(size + bytes.MinRead)
	}
	err = within(bodyTimeout, w, func() error {
		_, err := text.ReadFrom(http.MaxBytesReader(w, r.Body, MaxArguments))
		return err
	})
	if err != nil {
		release()
		return nil, nil, tool.Errorf(tool.CodeResourceExhausted, "the request was not read: %w", err)
	}
	return text.Bytes(), release, nil
}

// readJSON reads a body, which is what the words say. If it cannot, the client is told why.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, what string, into any) (ok bool) {
	body, release, err := s.readBody(w, r)
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, err)
		return false
	}
	defer release()
	if err := json.Unmarshal(body, into); err != nil {
		fail(w, http.StatusBadRequest, tool.Errorf(tool.CodeInvalidArguments, "the %s cannot be read: %w", what, err))
		return false
	}
	return true
}

// maxReason bounds what a client says in words, in bytes.
const maxReason = 400

// readDecision reads a decision about a call. On record is the process that decided: whether it
// asked a person is not known.
func (s *Server) readDecision(w http.ResponseWriter, r *http.Request) (d policy.Decision, ok bool) {
	const none policy.Verdict = -1
	d.Verdict = none
	if !s.readJSON(w, r, "decision", &d) {
		return d, false
	}
	if d.Verdict == none {
		fail(w, http.StatusBadRequest, tool.Errorf(tool.CodeInvalidArguments, "the decision has no verdict"))
		return d, false
	}
	d.By, d.Reason = peerOfRequest(r).String(), fmt.Sprintf("%.*s", maxReason, d.Reason)
	return d, true
}

// within bounds how long read may take to read a request.
func within(limit time.Duration, w http.ResponseWriter, read func() error) error {
	ctl := http.NewResponseController(w)
	if err := ctl.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if err := read(); err != nil {
		return err
	}
	return ctl.SetReadDeadline(time.Time{})
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	run, err := s.runningCall(r)
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	run.cancel(errCanceled)
	reply(w, struct{}{})
}

func (s *Server) preview(w http.ResponseWriter, r *http.Request) {
	run, err := s.runningCall(r)
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	end, err := s.beginWork(r)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	res, err := run.preview(r.Context())
	end()
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	connectionOf(r).owes(true)
	_ = s.sendAnswer(newLines(w), run.caller, Answer{}.succeeded(res))
}

func (s *Server) approve(w http.ResponseWriter, r *http.Request) {
	run, err := s.runningCall(r)
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	d, ok := s.readDecision(w, r)
	if !ok {
		return
	}
	if err := run.decide(d); err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	reply(w, struct{}{})
}

// do returns a handler for a request of the operator whose answer is only whether it worked. It is on record as
// the action; empty: the command that sends it is.
func (s *Server) do(action string, f func(context.Context, *http.Request) error) http.HandlerFunc {
	return operator(func(w http.ResponseWriter, r *http.Request) {
		end, err := s.beginWork(r)
		if err != nil {
			fail(w, http.StatusServiceUnavailable, err)
			return
		}
		defer end()
		err = f(r.Context(), r)
		if action != "" {
			s.record(r, audit.Record{Action: action, Object: r.PathValue("name")}, err)
		}
		if err != nil {
			fail(w, http.StatusConflict, err)
			return
		}
		reply(w, struct{}{})
	})
}

// record puts on record what a request had the daemon do.
func (s *Server) record(r *http.Request, of audit.Record, outcome error) {
	who := peerOfRequest(r)
	of.Via, of.Caller, of.UID = "socket", callerOf(r).Name, &who.uid
	s.service.Record(of, outcome)
}

// beginReading admits a client that reads what has no end, until end is called.
func (s *Server) beginReading() (end func(), err error) {
	select {
	case s.readers <- struct{}{}:
		return func() { <-s.readers }, nil
	default:
		return nil, tool.Errorf(tool.CodeResourceExhausted, "%d clients read already", maxReaders).Try("end one of them")
	}
}

// beginWork admits a request that may take long and is not a call, until end is called.
func (s *Server) beginWork(r *http.Request) (end func(), err error) {
	caller := callerOf(r).Name
	if _, _, ok := s.work.Take(caller, 1); !ok {
		return nil, tool.Errorf(tool.CodeResourceExhausted, "the daemon has too much to do besides calls").
			Try("try again later")
	}
	return func() { s.work.Give(caller, 1) }, nil
}

// reply writes one value. If the client is gone, there is nothing to do.
func reply(w http.ResponseWriter, v any) { respond(w, http.StatusOK, v) }

func fail(w http.ResponseWriter, status int, err error) {
	respond(w, status, map[string]*tool.Error{"error": sentError(err)})
}

// replyLarge is reply for a value that may be large: it counts as an answer that is not read
// yet, and the client has to read it in time.
func (s *Server) replyLarge(w http.ResponseWriter, r *http.Request, v any) {
	text, err := encoded(v)
	if err != nil {
		write(w, http.StatusInternalServerError, text)
		return
	}
	release, err := reserve(s.answers, callerOf(r), text.Len(), "the reply")
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	defer release()
	connectionOf(r).owes(true)
	write(w, http.StatusOK, text)
}

func respond(w http.ResponseWriter, status int, v any) {
	text, err := encoded(v)
	if err != nil {
		status = http.StatusInternalServerError
	}
	write(w, status, text)
}

// encoded returns a value as JSON; if it cannot be encoded, the error as JSON.
func encoded(v any) (*bytes.Buffer, error) {
	var text bytes.Buffer
	err := encoder(&text).Encode(v)
	if err != nil {
		text.Reset()
		fmt.Fprintf(&text, `{"error":{"code":"internal","message":%s}}`, strconv.Quote(err.Error()))
	}
	return &text, err
}

func write(w http.ResponseWriter, status int, text *bytes.Buffer) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}
