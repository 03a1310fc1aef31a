package doctor

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/internal/installed"
)

// checkInstalled looks for installed versions of which something is known, by what was last found out: no server is
// asked.
func checkInstalled(_ context.Context, p *patient) {
	d, err := installed.OpenExisting(p.settings.InstallDir())
	if err != nil { // nothing is installed, or not for this user
		return
	}
	defer func() { _ = d.Close() }()
	all, err := d.Plugins()
	for _, plugin := range all {
		v, ok := plugin.Current()
		if !ok {
			continue
		}
		said, bad := d.Said(v.Name)
		notices, worse := said.Of(v.Version)
		for _, notice := range notices {
			p.failed(v.Name+" "+v.Version+": "+notice, "toolhost plugins upgrade "+v.Name+", or toolhost plugins rollback "+v.Name)
		}
		err = errors.Join(err, bad, worse)
	}
	if err != nil {
		p.error(err, "")
	}
}
