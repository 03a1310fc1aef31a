package daemon

import (
	"context"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/trusted"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

func (d *daemon) ListWaiting(context.Context, *daemonv1.ListWaitingRequest) (*daemonv1.ListWaitingResponse, error) {
	return &daemonv1.ListWaitingResponse{Files: control.Messages[daemonv1.WaitingFile](d.waiting())}, nil
}

// waiting returns the files whose content waits for the operator's word.
func (d *daemon) waiting() []control.Waiting {
	out := []control.Waiting{}
	now := d.current.Load()
	c, file := now.settings.Config, d.configFile()
	if content, err := trusted.Read(file, config.MaxSize); file != "" && err == nil {
		sum := trust.Sum(content)
		counts, err := d.session.Counts(session.ByOperator, sum, now.settings.Root, now.settings)
		if sum != c.Digest() && (!counts || err != nil) {
			out = append(out, control.Waiting{File: file, SHA256: sum, Difference: c.Difference(content)})
		}
	}
	for _, w := range d.Host.Status().Waiting {
		content, err := trusted.Read(w.File, lockfile.MaxSize)
		if err != nil || trust.Sum(content) != w.SHA256 {
			content = nil // it changes again, and that digest is not there to be accepted
		}
		before, after := strings.Split(string(w.InForce), "\n"), strings.Split(string(content), "\n")
		out = append(out, control.Waiting{File: w.File, SHA256: w.SHA256, Difference: output.Difference(before, after,
			func(i int) string { return sanitize.Line(before[i], 200) }, func(i int) string { return sanitize.Line(after[i], 200) })})
	}
	return out
}

func (d *daemon) Reload(ctx context.Context, r *daemonv1.ReloadRequest) (*daemonv1.ReloadResponse, error) {
	return &daemonv1.ReloadResponse{}, control.Record(ctx, d, audit.Record{Action: "reload"}, d.accepted(ctx, r.GetAccept()))
}

// accepted reloads, and applies what waits if its digest is accepted.
func (d *daemon) accepted(ctx context.Context, accept []string) error {
	for _, w := range d.waiting() {
		if !slices.Contains(accept, w.SHA256) {
			continue
		}
		if err := d.accept(w); err != nil {
			return notReloaded(err)
		}
	}
	return d.reload(ctx, session.ByOperator)
}

// configFile returns the file of the configuration in effect, else the one in which a configuration
// would be found; empty: none.
func (d *daemon) configFile() string {
	if file := d.current.Load().settings.Config.File; file != "" {
		return file
	}
	path, _, _ := d.session.Flags.ConfigPath() // its error is that of each reading
	return path
}

// accept trusts what waits, if it can be used.
func (d *daemon) accept(w control.Waiting) error {
	var err error
	if w.File == d.configFile() {
		_, err = setup.Load(w.File)
	} else {
		_, err = lockfile.Read(w.File)
	}
	if err != nil {
		return err
	}
	return d.session.Accept(w.File, w.SHA256)
}
