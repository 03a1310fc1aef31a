package control

import (
	"context"
	"net/http"
	"slices"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Person is who opened a page of the console. What the page asks for is done for them.
type Person struct {
	UID int
	// Text is what is on record of them.
	Text string
}

// Console lets browsers in, by links. See [Server.Console].
type Console interface {
	// Link returns a link that is good once, for a browser of the person's own user if ownBrowser is set.
	Link(by Person, ownBrowser bool) (string, error)
	// EndPages ends the pages and the links, and returns how many pages there were.
	EndPages() int
}

// pages are the calls that pages may send.
var pages = []string{
	daemonv1.DaemonGetStateProcedure, daemonv1.DaemonListToolsProcedure, daemonv1.DaemonWatchProcedure, daemonv1.DaemonGetCallProcedure,
	daemonv1.DaemonGetSandboxProcedure, daemonv1.DaemonRestartPluginProcedure, daemonv1.DaemonDisablePluginProcedure,
	daemonv1.DaemonListApprovalsProcedure, daemonv1.DaemonGetApprovalProcedure, daemonv1.DaemonDecideApprovalProcedure,
}

// ServePerson serves a request of a page, of which the console knows who opened it.
func (s *Server) ServePerson(w http.ResponseWriter, r *http.Request, by Person) {
	req := &request{peer: peer{uid: by.UID}, person: by.Text}
	caller, err := s.callerAt(req.peer)
	if req.caller = caller; err == nil && (!caller.Operator || !slices.Contains(pages, r.URL.Path)) {
		err = tool.Errorf(tool.CodePermissionDenied, "this is not for pages of the console")
	}
	s.serve(w, r, req, err)
}

// via is how the request came in, on record.
func (r *request) via() string {
	if r.person != "" {
		return "console"
	}
	return "socket"
}

// by is who sent the request, on record.
func (r *request) by() string {
	if r.person != "" {
		return r.person
	}
	return r.peer.String()
}

func (h handler) OpenConsole(ctx context.Context, r *daemonv1.OpenConsoleRequest) (*daemonv1.OpenConsoleResponse, error) {
	if h.Console == nil {
		return nil, tool.Errorf(tool.CodeUnsupported, "this daemon has no console")
	}
	who := requestOf(ctx).peer
	url, err := h.Console.Link(Person{who.uid, "the console of " + who.String()}, r.GetOwnBrowser())
	return &daemonv1.OpenConsoleResponse{Url: url}, Record(ctx, h, audit.Record{Action: "console"}, err)
}

func (h handler) CloseConsole(ctx context.Context, _ *daemonv1.CloseConsoleRequest) (*daemonv1.CloseConsoleResponse, error) {
	out := &daemonv1.CloseConsoleResponse{}
	if h.Console != nil {
		out.Pages = int32(h.Console.EndPages()) //nolint:gosec // a few
	}
	return out, Record(ctx, h, audit.Record{Action: "console --close"}, nil)
}
