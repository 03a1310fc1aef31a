package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// attack is a plugin that means harm, and what has to come of it. Whatever it is,
// the host lives, a neighbour in the same host answers, what is said of it has no
// control characters and comes in time, and nothing is left when the host has
// closed: see strike.
type attack struct {
	mode plugintest.Mode
	// name tells attacks with one mode apart. Default: the mode.
	name string
	// on are the carriers that it is tried on. Default: the host's own.
	on []plugin.Carrier
	// each says that it is about carriers: it is tried on all of them by day too.
	each bool
	// opts are the host's, in addition to those of every attack.
	opts []host.Option
	// plant puts the attacker into a plugin directory, under the name of its mode.
	// Default: the test's binary.
	plant func(t *testing.T, dir string)
	// start is what Load has to say of it. Nil: nothing.
	start *fault
	// call is what a call of hostile.Tool ends with. Nil: a result.
	call *fault
	// uncalled leaves the call out, as it is where the attacker does not start.
	uncalled bool
	// args are the call's. Default: none.
	args string
	// patience is the caller's. Default: ceiling.
	patience time.Duration
	// within is what loading or the call should take, each; 20 times as much is too
	// long. Default: 1 s.
	within time.Duration
	// state and reason are what an operator sees afterwards; empty: any.
	state  plugin.State
	reason string
	// fault is what an operator sees as the plugin's last fault; empty: any.
	fault string
	// then looks for more.
	then func(t *testing.T, s *scene)
}

// fault is a kind of *tool.Error.
type fault struct {
	code  tool.Code
	texts []string // in its message
	words bool     // it quotes hostile.LastWords
}

var everyCarrier = []plugin.Carrier{plugin.Socket, plugin.Stream, plugin.Unary}

// scene is a host with an attacker and a neighbour.
type scene struct {
	*host.Host
	attack   attack
	owner    string // the attacker's name
	root     string
	sockets  string
	mark     string
	logged   *logbook
	answered atomic.Int64 // by the neighbour
	stop     func()       // lets the neighbour be
	result   tool.Result  // of the call
}

// strike is one attack on one carrier.
func strike(t *testing.T, a attack, carrier plugin.Carrier) {
	t.Helper()
	s := &scene{attack: a, owner: string(a.mode), root: t.TempDir(), logged: &logbook{}}
	s.mark = hostile.Mark + "=" + filepath.Base(filepath.Dir(s.root)) + filepath.Base(s.root)
	h := require.Must(host.New(append([]host.Option{
		host.WithRoot(s.root), host.WithDefaults(func(all *plugin.Settings) {
			all.StartTimeout, all.Carrier, all.Env = ceiling, carrier, []string{s.mark}
		}), host.WithLogger(s.logged.logger()),
	}, a.opts...)...))(t)
	s.Host = h
	beside, dir := plugintest.Dir(t, plugintest.Snoop), plugintest.Dir(t)
	t.Cleanup(func() { s.close(t) })
	if _, err := h.Load(t.Context(), beside); err != nil {
		t.Fatalf("the neighbour: %v", err)
	}
	s.findSockets(t)
	s.stop = s.keepAsking(t)

	s.load(t, dir)
	if a.start == nil && !a.uncalled {
		s.call(t)
	}
	s.look(t)
	if a.then != nil {
		a.then(t, s)
	}
	s.neighbourAnswers(t, 2)
	s.close(t)
	assert.Equalf(t, s.logged.fault(), "", "in the log")
}

// load loads the attacker.
func (s *scene) load(t *testing.T, dir string) {
	t.Helper()
	if s.attack.plant != nil {
		s.attack.plant(t, dir)
	} else {
		plugintest.Install(t, dir, s.owner)
	}
	begin := time.Now()
	_, err := s.Load(t.Context(), dir)
	s.inTime(t, "loading", begin)
	if s.attack.start == nil {
		if err != nil {
			t.Fatalf("Load: %v", err)
		}
		return
	}
	faults := faultsOf(err)
	if len(faults) == 0 {
		t.Errorf("Load found no fault, want %s", s.attack.start.code)
	}
	for _, e := range faults {
		s.check(t, e, s.attack.start)
	}
}

// call calls the attacker.
func (s *scene) call(t *testing.T) {
	t.Helper()
	patience := s.attack.patience
	if patience == 0 {
		patience = ceiling
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begin := time.Now()
	res, err := s.Execute(ctx, tool.Call{Name: hostile.Tool, Arguments: json.RawMessage(s.attack.args)})
	s.inTime(t, "the call", begin)
	s.result = res
	switch faults := faultsOf(err); {
	case s.attack.call == nil && err != nil:
		t.Errorf("the call: %v", err)
	case s.attack.call == nil:
	case len(faults) != 1:
		t.Errorf("the call ended with %v and %d faults, want %s", err, len(faults), s.attack.call.code)
	default:
		s.check(t, faults[0], s.attack.call)
	}
}

// check compares an error with what it was to be.
func (s *scene) check(t *testing.T, e *tool.Error, want *fault) {
	t.Helper()
	if e.Code != want.code || e.Plugin != s.owner {
		t.Errorf("got %s of plugin %q, want %s of %q: %v", e.Code, e.Plugin, want.code, s.owner, e)
	}
	for _, text := range want.texts {
		if !strings.Contains(e.Message, text) {
			t.Errorf("message %.500q lacks %q", e.Message, text)
		}
	}
	if quoted := `now I will do it\x1b[2J`; want.words && !strings.Contains(e.Message, quoted) && !strings.Contains(e.Detail, quoted) {
		t.Errorf("neither message %.300q nor detail %.300q quotes the last words", e.Message, e.Detail)
	}
	if e.Code == tool.CodeToolFailed && e.Detail != "" {
		t.Errorf("a tool's own error has the detail %.300q", e.Detail)
	}
	for what, said := range map[string]string{"message": e.Message, "hint": e.Hint, "error": e.Error(), "tool": e.Tool} {
		if !shown(said, false) {
			t.Errorf("its %s is not fit to be shown: %.200q (%d bytes)", what, said, len(said))
		}
	}
	if !shown(e.Detail, true) {
		t.Errorf("its detail is not fit to be shown: %.200q (%d bytes)", e.Detail, len(e.Detail))
	}
}

// look checks what an operator sees.
func (s *scene) look(t *testing.T) {
	t.Helper()
	for _, p := range s.Plugins() {
		for _, said := range []string{p.Name, p.Reason, p.Version, p.SDK} {
			if !shown(said, false) {
				t.Errorf("its status is not fit to be shown: %.200q", said)
			}
		}
		if p.Name != s.owner {
			continue
		}
		if s.attack.state != "" && p.State != s.attack.state {
			t.Errorf("its state is %s, want %s: %+v", p.State, s.attack.state, p)
		}
		if f := p.LastFault; s.attack.fault != "" && (f == nil || !strings.Contains(f.Text, s.attack.fault) || !shown(f.Text, false)) {
			t.Errorf("its last fault %.300q lacks %q", f, s.attack.fault)
		}
		if !strings.Contains(p.Reason, s.attack.reason) {
			t.Errorf("its reason %q lacks %q", p.Reason, s.attack.reason)
		}
	}
}

// inTime fails the test for what took too long.
func (s *scene) inTime(t *testing.T, what string, begin time.Time) {
	t.Helper()
	within := s.attack.within
	if within == 0 {
		within = time.Second
	}
	if took := time.Since(begin); took > 20*within {
		t.Errorf("%s took %v, more than 20 times %v", what, took.Round(time.Millisecond), within)
	}
}

// keepAsking has the neighbour answer until the function that it returns is
// called.
func (s *scene) keepAsking(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if seen, err := s.ask(); err != nil && ctx.Err() == nil {
				t.Errorf("the neighbour: %v", err)
				return
			} else if seen.Dir == "" && ctx.Err() == nil {
				t.Error("the neighbour answers nonsense")
				return
			}
			s.answered.Add(1)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// ask asks the neighbour.
func (s *scene) ask() (seen plugintest.Seen, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), ceiling)
	defer cancel()
	res, err := s.Execute(ctx, tool.Call{Name: "snoop.look"})
	if err == nil {
		err = json.Unmarshal(res.Structured, &seen)
	}
	return seen, err
}

// findSockets learns where the host has its plugins' sockets.
func (s *scene) findSockets(t *testing.T) {
	t.Helper()
	seen := require.Must(s.ask())(t)
	for _, kv := range seen.Env {
		if dir, ok := strings.CutPrefix(kv, "PLUGIN_UNIX_SOCKET_DIR="); ok {
			s.sockets = filepath.Dir(dir)
		}
	}
	if s.sockets == "" {
		t.Fatal("where are the sockets?")
	}
}

// neighbourAnswers waits until the neighbour has answered more often than that.
func (s *scene) neighbourAnswers(t *testing.T, times int64) {
	t.Helper()
	require.Eventually(t, "the neighbour answers", func() bool { return s.answered.Load() > times })
}

// close closes the host, once, and looks for what is left.
func (s *scene) close(t *testing.T) {
	t.Helper()
	if s.Host == nil {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	h := s.Host
	begin := time.Now()
	if err := h.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(begin); took > ceiling {
		t.Errorf("Close took %v", took)
	}
	s.Host = nil
	if _, err := os.Lstat(s.sockets); !os.IsNotExist(err) && s.sockets != "" {
		t.Errorf("the socket directory %s is still there (%v)", s.sockets, err)
	}
	require.Eventually(t, "no process is left", func() bool { return len(marked(s.mark)) == 0 })
}

// faultsOf are the *tool.Errors in a tree of joined errors.
func faultsOf(err error) []*tool.Error {
	var e *tool.Error
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*tool.Error
		for _, one := range many.Unwrap() {
			out = append(out, faultsOf(one)...)
		}
		return out
	}
	if errors.As(err, &e) {
		return []*tool.Error{e}
	}
	return nil
}
