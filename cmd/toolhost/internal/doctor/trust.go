package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// checkTrust looks for plugins that do not run for their signature. No plugin is started, so that
// one that serves other tools than were signed is found only when it is.
func checkTrust(ctx context.Context, p *patient) {
	trust := p.settings.Config.Trust
	if !trust.Required && len(trust.Publishers) == 0 {
		p.ok("signatures of plugins do not count: the configuration has no trust.publishers")
		return
	}
	signed, total := 0, 0
	for _, dir := range p.settings.Dirs.Watched() {
		found, _, err := pluginrun.Discover(dir)
		if err != nil {
			continue // it is a finding of the directory
		}
		for _, c := range found {
			total++
			err := checkSigned(ctx, trust.Publishers, dir, c)
			switch tolerated := errors.Is(err, pluginpackage.ErrUnsigned) || errors.Is(err, pluginpackage.ErrUnknownKey); {
			case err == nil:
				signed++
			case tolerated && !trust.Required:
				p.warning(fmt.Sprintf("plugin %s runs, and %v", c.Name, err), "install it from a signed package, and then set trust.required")
			default:
				p.failed(fmt.Sprintf("plugin %s does not run: %v", c.Name, err), "install it from a package of a publisher whom you trust")
			}
		}
	}
	p.ok(fmt.Sprintf("%d of %s are signed by publishers whom the configuration trusts", signed, count(total, "plugin")))
}

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
		for _, notice := range said.Of(v.Version) {
			p.failed(v.Name+" "+v.Version+": "+notice, "toolhost plugins upgrade "+v.Name+", or rollback")
		}
		err = errors.Join(err, bad)
	}
	if err != nil {
		p.error(err, "")
	}
}

// checkSigned returns what is wrong with the signature of a plugin's file.
func checkSigned(ctx context.Context, publishers pluginpackage.Publishers, dir string, c plugin.Candidate) error {
	sum, err := pluginpackage.HashFile(ctx, c.Binary())
	if err != nil {
		return err
	}
	s, err := pluginpackage.ReadSigned(dir, c.Name, sum)
	if err != nil {
		return err
	}
	_, err = publishers.CheckSigned(s)
	return err
}
