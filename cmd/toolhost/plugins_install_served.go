package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/deadline"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// servedTime bounds how long a daemon is waited for that starts a plugin.
const servedTime = time.Minute

// servedPause is the time between two looks.
const servedPause = 50 * time.Millisecond

// served waits until the daemon, if there is one, serves a plugin that was put in place, or says why it
// does not. State is empty without a daemon.
func (i *install) served(ctx context.Context, p installer.Plan) (state, reason string) {
	d := i.s.Daemon(ctx)
	if d == nil {
		return "", ""
	}
	_, failed := control.Do(ctx, d, daemonv1.DaemonHandler.Refresh, &daemonv1.RefreshRequest{})
	for end := time.Now().Add(servedTime); time.Now().Before(end); {
		if d = i.s.Daemon(ctx); d == nil {
			return "gone", "it has ended"
		}
		status, ok := session.Status(d.State().Plugins, p.Plugin)
		switch {
		case !ok:
		case status.State == plugin.Refused || status.State == plugin.Disabled:
			return string(status.State), status.Reason
		case status.Upgrade != "":
			return string(status.State), status.Upgrade
		case status.Version == p.Version && status.WantsMore == nil:
			return string(status.State), ""
		}
		if !deadline.Sleep(ctx, servedPause) {
			return "unknown", ctx.Err().Error()
		}
	}
	if failed != nil {
		return "unknown", failed.Error()
	}
	return "unknown", "see toolhost plugins show " + p.Plugin
}
