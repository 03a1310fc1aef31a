package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/toggle"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/internal/trust"
)

// checkWorkspace looks for the workspace, without which a daemon does not start and no tool works.
func checkWorkspace(_ context.Context, p *patient) {
	info, err := os.Stat(p.root)
	switch {
	case err != nil:
		p.failed("the workspace cannot be used: "+err.Error(), "make it, or name another with --root or root:")
	case !info.IsDir():
		p.failed("the workspace "+p.root+" is not a directory", "name another with --root or root:")
	}
}

// checkRecords reads what commands and daemons have remembered.
func checkRecords(_ context.Context, p *patient) {
	for _, read := range []func() error{
		func() error { _, err := toggle.Read(); return err },
		func() error { _, err := pins.ReadRecord(); return err },
		func() error {
			store, err := trust.Open()
			if err == nil {
				_, err = store.List()
			}
			return err
		},
	} {
		if err := read(); err != nil {
			p.error(err, "")
		}
	}
	dir, err := state.Dir()
	if err != nil {
		return // it is said of its place
	}
	path := filepath.Join(dir, "rates.json")
	if info, err := os.Stat(path); err == nil && info.Size() > 0 { // its first call writes it
		if _, err := (state.File[[]json.RawMessage]{Path: path, Max: 4 << 20}).Read(); err != nil {
			p.warning("what callers have used of their rates is not known, so they begin again: "+err.Error(), "remove it")
		}
	}
}

// checkTokens reads the tokens of callers over HTTP.
func checkTokens(_ context.Context, p *patient) {
	store, err := token.Open()
	if err != nil {
		return // there is no place for state
	}
	all, err := store.List()
	if err != nil {
		p.failed("no token counts: "+err.Error(), "restore "+store.Path()+", or remove it and make new ones: toolhost tokens new")
		return
	}
	for _, one := range all {
		if _, named := p.settings.Config.Callers[one.Caller]; !named && p.invalid == nil && !one.Expired(p.now) {
			p.warning(fmt.Sprintf("the token %s is of the caller %s, which the configuration does not name, so that it holds no capability",
				one.ID, one.Caller), "name it under callers, or: toolhost tokens revoke "+one.ID)
		}
	}
}

// How much of an audit log is verified, in bytes: for doctor, and for status, which monitors run often.
const (
	manyBytes = 1 << 30
	fewBytes  = 16 << 20
)

// checkChain looks for lines of the audit log that are not as they were written.
func checkChain(ctx context.Context, p *patient) {
	path, err := auditPath(p.settings)
	if p.running != nil {
		path = p.running.Audit
	}
	if err != nil || path == "" {
		return
	}
	files, _ := filepath.Glob(path + "*")
	size := int64(0)
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
	}
	if size > p.most {
		p.ok(fmt.Sprintf("its %d MiB were not verified: toolhost audit verify does that", size>>20))
		return
	}
	report, err := audit.Verify(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		p.failed("it cannot be read: "+err.Error(), "see toolhost audit verify")
	case report.Break != nil:
		p.failed("it is not as it was written: "+report.Break.Error(), "toolhost audit verify says more; keep a copy of its files first")
	}
}
