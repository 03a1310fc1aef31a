package daemon

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/auditindex"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// DisablePlugin does what toolhost plugins disable does.
func (d *daemon) DisablePlugin(ctx context.Context, r *daemonv1.DisablePluginRequest) (*daemonv1.DisablePluginResponse, error) {
	err := d.disable(ctx, r.GetName())
	return &daemonv1.DisablePluginResponse{}, control.Record(ctx, d, audit.Record{Action: "plugins disable", Object: r.GetName()}, err)
}

func (d *daemon) disable(ctx context.Context, name string) error {
	unknown := tool.Errorf(tool.CodeNotFound, "there is no plugin %.64q", name)
	p, ok := session.Status(d.Host.Plugins(), name)
	if !ok {
		return unknown
	}
	key := known.At(p.Path, name)
	if p.Kind == pluginrun.KindMCP {
		one, ok := d.current.Load().loaded.Servers.Get(name)
		if !ok {
			return unknown
		}
		file, err := paths.Canonical(one.File)
		if err != nil {
			return err
		}
		key = known.Plugin{Dir: file, Name: name}
	}
	book, err := known.OpenOwn()
	if err != nil {
		return err
	}
	if err := book.Decide(func(all known.Records) { all.Change(key, func(r *known.Record) { r.Disabled = true }) }); err != nil {
		return err
	}
	_, err = d.ApplyPlugin(ctx, &daemonv1.ApplyPluginRequest{Name: name})
	return err
}

// GetCall finds the call, and those that were made in it, as toolhost audit show does.
func (d *daemon) GetCall(ctx context.Context, r *daemonv1.GetCallRequest) (*daemonv1.GetCallResponse, error) {
	out := &daemonv1.GetCallResponse{}
	if d.Audit == "" {
		return nil, tool.Errorf(tool.CodeUnsupported, "this daemon records no calls").Try("set audit.file in its configuration")
	}
	if r.GetId() == "" {
		return out, nil
	}
	d.finding.Lock() // two that make an index would read the log twice
	defer d.finding.Unlock()
	log, err := audit.OpenReader(ctx, d.Audit)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	x, err := auditindex.Open(ctx, d.Audit, log, auditindex.Options{
		Dir:      d.current.Load().settings.CacheDir(),
		Progress: func(int64, int64) {}, Warn: func(text string) { d.log.Warn(text) },
	})
	if err != nil {
		return nil, err
	}
	defer x.Close()
	tree, err := x.Tree(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	var lines []audit.Entry
	for next := []*auditindex.Call{tree}; len(next) > 0 && len(lines) < maxRecords; next = next[1:] { // what is deeper comes later
		lines = append(lines, next[0].Entries...)
		next = append(next, next[0].Calls...)
	}
	lines = lines[:min(len(lines), maxRecords)]
	slices.SortFunc(lines, func(a, b audit.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, e := range lines {
		out.Records = append(out.Records, string(e.Raw))
	}
	return out, nil
}

// maxRecords bounds the lines that say something of one call.
const maxRecords = 500
