package daemon

import (
	"reflect"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/policy"
)

func (d *daemon) Approvals() *approval.Queue { return d.queue }

// stale says why a call that waits in the queue cannot run any more as its question describes it.
func (d *daemon) stale(r policy.Request) string {
	t, ok := d.Host.Get(r.Definition.Name)
	t.Alias = r.Definition.Alias // the registry's, which says nothing of the tool
	switch {
	case !ok || !d.given(control.Caller{Name: r.Caller}).Sees(t.Definition):
		return "the tool " + r.Definition.Name + " was removed while the question waited"
	case t.Approval == policy.DenyAll:
		return "the operator has denied calls of " + r.Definition.Name + " while the question waited"
	case !reflect.DeepEqual(t.Definition, r.Definition):
		return "the tool " + r.Definition.Name + " has changed while the question waited"
	}
	return ""
}
