package daemon

import (
	"os"
	"strconv"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
)

// The daemon's own user is the operator, and root, who can
// do everything that this user can, is one too; other users are those that the configuration
// names.
func (d *daemon) Caller(uid int) (control.Caller, bool) {
	if uid == os.Geteuid() {
		return control.Caller{Name: setup.CLI, Operator: true}, true
	}
	if name, ok := setup.Named(d.config(), uid); ok {
		return control.Caller{Name: name, Operator: uid == 0}, true
	}
	return control.Caller{Name: "uid-" + strconv.Itoa(uid), Operator: true}, uid == 0
}

// admits reports whether a user may connect.
func (d *daemon) admits(uid int) bool {
	_, ok := d.Caller(uid)
	return ok
}

// share opens the socket to other users if the configuration names any.
func (d *daemon) share() {
	if d.claim == nil {
		return
	}
	if err := d.claim.Share(setup.Shared(d.config())); err != nil {
		d.log.Warn("which users can connect has not changed", "error", err)
	}
}

// given returns what the configuration gives a caller.
func (d *daemon) given(c control.Caller) setup.Caller {
	return setup.CallerOf(d.config(), c.Name)
}

// allowance returns the most that a caller may have. What the operator says on the command line
// of the daemon is for the operator's own commands.
func (d *daemon) allowance(c control.Caller) session.Allowance {
	may := session.Allowance{Caller: d.given(c)}
	if c.Name == setup.CLI {
		may.Grants, may.Yes = d.options.Grants, d.options.Yes
	}
	return may
}
