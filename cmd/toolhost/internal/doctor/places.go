package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/state"
)

// checkState examines the directory in which commands remember what the operator decides.
func checkState(_ context.Context, p *patient) {
	dir, err := state.Dir()
	if err != nil {
		p.warning("there is no place for what toolhost has to remember ("+err.Error()+"): locks, trust, disabled plugins",
			"set HOME, or XDG_STATE_HOME to an absolute path")
		return
	}
	p.checkWritable(dir, dir, "set XDG_STATE_HOME to a directory that this user may write to")
}

// auditPath returns the path of the log; empty: there is to be none.
func auditPath(t *session.Settings) (string, error) {
	switch path := t.AuditPath(""); path {
	case session.Off:
		return "", nil
	case "":
		return audit.DefaultPath()
	default:
		return filepath.Abs(path)
	}
}

// checkAudit examines whether calls can be recorded.
func checkAudit(_ context.Context, p *patient) {
	const hint = "mend that, or name another file with audit: path, --audit or " + session.AuditVariable
	path, err := auditPath(p.settings)
	switch {
	case err != nil:
		p.warning("there is no place for the audit log: "+err.Error(), hint)
		return
	case path == "":
		p.ok("no log is kept, as the configuration or " + session.AuditVariable + " says")
		return
	}
	for _, file := range []string{path, path + ".lock"} {
		f, _, err := safefile.Open(file, os.O_RDWR|os.O_APPEND)
		if err == nil {
			_ = f.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			p.failed("calls cannot be recorded: "+err.Error(), hint)
		}
	}
	p.checkWritable(path, filepath.Dir(path), hint)
}

// checkCache examines the directory that saves the start of plugins.
func checkCache(_ context.Context, p *patient) {
	const hint = "mend that, or name another directory with cache_dir or " + session.CacheVariable
	dir := p.settings.CacheDir()
	if dir == "" {
		p.ok("there is none, so each command starts all plugins")
		return
	}
	for _, one := range []string{dir, filepath.Join(dir, "toolhost-manifests")} {
		if info, err := os.Lstat(one); err == nil && info.IsDir() && !safefile.Private(info, 0o022) {
			p.failed(fmt.Sprintf("%s is not used: others may write to it, or own it (mode %s)", one, info.Mode().Perm()),
				"chmod go-w it, or name another directory with cache_dir")
			return
		}
	}
	p.checkWritable(dir, dir, hint)
}

// checkTemporary examines where the sockets of plugins are made.
func checkTemporary(_ context.Context, p *patient) {
	const hint = "set TMPDIR to an existing directory that this user may write to"
	dir := temporaryDir()
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		p.failed("the directory for temporary files cannot be used: "+err.Error(), hint)
	case info.IsDir() && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0:
		p.failed(fmt.Sprintf("others may replace what is in %s (mode %s, not sticky)", dir, info.Mode().Perm()), "chmod +t "+dir)
	default:
		p.checkWritable(dir, dir, hint)
	}
}

// longTemporary is the longest path of a directory for temporary files, in bytes, in which
// hosts make sockets.
const longTemporary = 40

// temporaryDir returns the directory in which hosts make the sockets of plugins: /tmp, if the
// path of the one that is named is too long for a socket.
func temporaryDir() string {
	if dir := os.TempDir(); len(dir) <= longTemporary || filepath.Separator != '/' {
		return dir
	}
	return "/tmp"
}

// checkSocket examines where the daemon's socket is, or would be.
func checkSocket(_ context.Context, p *patient) {
	path, err := p.settings.SocketPath()
	switch {
	case err != nil:
		p.error(err, "name a socket with --socket or "+session.SocketVariable)
		return
	case path == "":
		p.ok("there is to be no daemon")
		return
	}
	if err := control.CheckPath(path); err != nil {
		p.error(err, "")
		return
	}
	const hint = "mend that, or name another socket with --socket or " + session.SocketVariable
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	open := err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
	switch {
	case err == nil && (open || !safefile.Ours(info)):
		p.failed(fmt.Sprintf("%s is not private (mode %s): other users could put a socket of theirs there", dir, info.Mode().Perm()),
			"chmod 700 "+dir+", or name another socket with --socket or "+session.SocketVariable)
	case err == nil:
		if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
			p.failed(path+" exists and is not a socket", "remove it, or name another with --socket")
			return
		}
		fallthrough
	default:
		p.checkWritable(path, dir, hint)
	}
}

// checkWritable writes a file into a directory and removes it. A directory that does not
// exist has to be one that can be made. What is shown if nothing is wrong.
func (p *patient) checkWritable(what, dir, hint string) {
	if err := tryWriting(dir); err != nil {
		switch {
		case safefile.IsFull(err):
			hint = "make space there: the disk, or what this user may use of it, is full"
		case errors.Is(err, errNotDirectory):
			hint = "move it away, or " + hint
		}
		p.failed(dir+" cannot be written: "+err.Error(), hint)
		return
	}
	p.ok(what)
}

var errNotDirectory = errors.New("is not a directory")

func tryWriting(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		above := existing(dir)
		return mayWrite(above)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s %w", dir, errNotDirectory)
	}
	f, err := os.CreateTemp(dir, ".toolhost-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// existing returns a path, or the nearest directory above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}
