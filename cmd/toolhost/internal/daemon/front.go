package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/mcphttp"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// front is where MCP clients come in over HTTP. A nil front is one that is not wanted.
type front struct {
	listener net.Listener
	http     *mcphttp.Server
	tokens   *token.Checker
	url      string
	// settings are those of the daemon once it is there.
	settings atomic.Pointer[func() *config.Config]
	daemon   atomic.Pointer[daemon] // nil: it does not serve yet
	once     sync.Once
	served   chan struct{} // closed when the listener is
}

// openFront opens the address, before anything starts: it may be taken, or not allowed.
func openFront(s *session.Session, o Options) (*front, error) {
	if !o.HTTP {
		return nil, nil //nolint:nilnil // a nil front does nothing
	}
	log, err := s.Logger()
	if err != nil {
		return nil, err
	}
	store, err := token.Open()
	if err != nil {
		return nil, err
	}
	f := &front{tokens: token.NewChecker(store), served: make(chan struct{})}
	before := func() *config.Config { return s.Settings().Config }
	f.settings.Store(&before)
	current := func() *config.Config { return (*f.settings.Load())() }
	mcp := func() config.MCP {
		m := current().MCP
		if o.Listen != "" {
			m.Listen = o.Listen
		}
		return m
	}
	f.http, err = mcphttp.New(mcphttp.Options{
		Settings: mcp, Tokens: f.tokens, Log: log.Named("mcp"), Refused: f.refused, Login: f.login, Counting: f.counting,
		CallerOf: func(subject string) (string, bool) { return setup.OfSubject(current(), subject) },
	})
	if err != nil {
		return nil, err
	}
	scheme, encrypted := "http", mcp().TLS.Cert != ""
	if encrypted {
		scheme = "https"
	}
	if f.listener, err = mcphttp.Listen(mcp().Listen, encrypted, mcp().Limits.Connections); err != nil {
		return nil, err
	}
	f.url = scheme + "://" + f.listener.Addr().String() + mcphttp.Path
	go func() {
		defer close(f.served)
		if err := f.http.Serve(f.listener); err != nil {
			log.Error("MCP clients are not served any more", "error", err)
		}
	}()
	return f, nil
}

// serve lets callers in.
func (f *front) serve(d *daemon) error {
	if f == nil {
		return nil
	}
	f.settings.Store(new(d.config))
	f.daemon.Store(d)
	d.front.Store(f)
	server, err := d.mcp.open()
	if err != nil {
		return err
	}
	f.http.Ready(server.Handler())
	useProcessors((runtime.GOMAXPROCS(0) + 1) / 2) // the others are for plugins and servers
	return nil
}

// counting counts the requests that a handler answers once the daemon is there.
func (f *front) counting(next http.Handler) http.Handler {
	counted := sync.OnceValue(func() http.Handler { return f.daemon.Load().numbers.Counting(next) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.daemon.Load() == nil {
			next.ServeHTTP(w, r)
			return
		}
		counted().ServeHTTP(w, r)
	})
}

// refused counts a request that was turned away. That of a caller is on record.
func (f *front) refused(caller, name, reason string, why error) {
	d := f.daemon.Load()
	if d == nil {
		return
	}
	d.numbers.TurnedAway(reason)
	if caller != "" {
		d.Host.Refuse(host.Caller{Name: caller, Via: viaMCP}, name, tool.Errorf(tool.CodeResourceExhausted, "%w", why))
	}
}

// login puts on record who came in, and whose token did not count.
func (f *front) login(caller, id, from string, requests int, why error) {
	d := f.daemon.Load()
	if d == nil {
		return
	}
	r := audit.Record{Action: "login", Object: id, Caller: caller, Via: viaMCP, Message: "from " + from}
	if why == nil {
		d.Record(r, nil)
		return
	}
	r.Refusals = requests
	d.Record(r, tool.Errorf(tool.CodePermissionDenied, "%w", why))
}

// say tells the operator how clients come in.
func (f *front) say(s *session.Session) {
	if f == nil {
		return
	}
	hint := "toolhost tokens new NAME makes one"
	if n := f.tokens.Len(); n > 0 {
		hint = fmt.Sprintf("there are %d, see toolhost tokens, and %s", n, hint)
	}
	s.Say(fmt.Sprintf("MCP on %s: each client needs a token (%s)", f.url, hint))
}

// abort ends all at once, unless it has ended.
func (f *front) abort() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f.shutdown(ctx)
}

// shutdown ends what clients wait for, and gives their calls in progress time until ctx ends.
func (f *front) shutdown(ctx context.Context) {
	if f == nil {
		return
	}
	f.once.Do(func() {
		f.http.Shutdown(ctx)
		<-f.served
		f.tokens.Close()
	})
}
