package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The tools of each plugin, behind its name and a dot. Both ask for retries; only
// again says that they do no harm, so once may be repeated only where a call never
// left the host.
const (
	again = "again"
	once  = "once"
)

// retries is how many both ask for.
const retries = 5

// maxWork is how long a tool takes at most.
const maxWork = 20 * time.Millisecond

type work struct {
	Microseconds int `json:"us" jsonschema:"how long it takes"`
}

// isPlugin reports whether this process was started as one.
func isPlugin() bool { return os.Getenv(wire.CookieKey) == wire.CookieValue }

// serve is the plugin. What its tools answer is the call's ID.
func serve() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	ledger, err := openLedger(ledgerOf(".", name))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	run := noted(ledger)
	repeated := pluginsdk.Func(name+"."+again, "Notes the call, waits, and may be repeated.", run, pluginsdk.Safe(), pluginsdk.Idempotent(retries))
	single := pluginsdk.Func(name+"."+once, "Notes the call, waits, and must not be repeated.", run, pluginsdk.Safe())
	single.MaxRetries = retries
	pluginsdk.Main(repeated, single)
}

// noted is what the tools do.
func noted(ledger ledger) func(context.Context, work) (string, error) {
	return func(ctx context.Context, w work) (string, error) {
		id := tool.CallFrom(ctx).ID
		if err := ledger.add(id); err != nil {
			return "", err
		}
		t := time.NewTimer(time.Duration(w.Microseconds) * time.Microsecond)
		defer t.Stop()
		select {
		case <-t.C:
			return id, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
