package verify

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// subject is the plugin that is verified, with what the checks have learned of it.
type subject struct {
	Options
	path    string              // of the file, absolute
	dir     string              // everything that is made is in here
	root    string              // the workspace
	sockets string              // a directory of a directory for each process
	temp    string              // the TMPDIR of the plugin, and with endTemp that of one that is loose
	env     []string            // as a host gives it
	found   map[string]*verdict // of the checks that are chosen or needed

	mu      sync.Mutex // for what checks that run at a time change
	spare   *process   // which waits for the next [subject.open] of its kind; nil: none does
	running []*process // all that were started
	first   *process   // nil: it was not started
	main    *process   // which most checks talk to; nil: none runs
	about   *pluginv1.DescribeResponse
	tools   []declared
	calls   []*call
	mark    string                             // the value of sensitive arguments
	sent    atomic.Int64                       // calls
	denied  faults                             // by the sandbox
	reads   finding                            // whether safe tools only read
	fastest time.Duration                      // start, of those that were made
	lanes   faults                             // what was wrong with frames
	away    *pluginv1.DescribeResponse         // in another workspace and time zone
	clean   finding                            // what it wrote there when it started
	unknown time.Duration                      // the first call, of a tool that does not exist
	used    *usage                             // what a process uses; nil: not measured
	ended   *shutdown                          // how a process ended that was asked to; nil: none was
	hosts   map[plugin.SandboxLevel]*host.Host // by the level of the plugin's sandbox
}

// textFile is a file of a new workspace: a text that is made from a schema is "text", and so leads
// to something if it is a path.
const textFile = "text"

func newSubject(o Options, chosen map[string]bool) (*subject, error) {
	if o.Timeout <= 0 {
		o.Timeout = pluginrun.DefaultStartTimeout
	}
	path, err := filepath.Abs(o.File)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, tool.Errorf(tool.CodeNotFound, "there is no file %s", o.File).
			Because(err).Try("name the executable of the plugin")
	}
	s := &subject{
		Options: o, path: path, mark: "mark" + rand.Text(), found: map[string]*verdict{},
		hosts: map[plugin.SandboxLevel]*host.Host{}, fastest: math.MaxInt64,
	}
	for id := range needs(chosen) {
		s.found[id] = &verdict{done: make(chan struct{})}
	}
	if s.dir, err = os.MkdirTemp("", "th-verify-"); err != nil {
		return nil, err
	}
	if err := s.furnish(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// furnish makes the directories.
func (s *subject) furnish() (err error) {
	if s.dir, err = filepath.EvalSymlinks(s.dir); err != nil {
		return err
	}
	s.sockets, s.temp, s.root = filepath.Join(s.dir, "s"), filepath.Join(s.dir, "t"), filepath.Join(s.dir, "work")
	for _, dir := range []string{s.sockets, s.temp, s.temp + endTemp, s.root} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if s.Root == "" {
		err = os.WriteFile(filepath.Join(s.root, textFile), []byte("text\nin a file of the workspace\n"), 0o600)
	} else if s.root, err = filepath.Abs(s.Root); err == nil {
		s.root, err = filepath.EvalSymlinks(s.root)
	}
	s.env = pluginrun.New(plugin.Candidate{Name: pluginrun.NameOf(filepath.Base(s.path)), Path: s.path}, pluginrun.Config{Root: s.root}).Environment()
	return err
}

// close ends everything that was started, and removes what was made.
func (s *subject) close() {
	var hosts sync.WaitGroup
	for _, h := range s.hosts {
		hosts.Go(func() { _ = h.Close(context.Background()) })
	}
	for _, p := range s.running {
		p.end()
	}
	hosts.Wait()
	_ = os.RemoveAll(s.dir)
}

// open starts the plugin, connects to it and configures it.
func (s *subject) open(ctx context.Context, o startOptions) (*process, error) {
	s.mu.Lock()
	if p := s.spare; p != nil && o == (startOptions{}) && !p.hasEnded() {
		s.spare = nil
		s.mu.Unlock()
		return p, nil
	}
	s.mu.Unlock()
	p, err := s.connected(ctx, o)
	if err == nil {
		err = p.orEnd(s.prepare(ctx, p))
	}
	return p, err
}

// connected starts the plugin and connects to it.
func (s *subject) connected(ctx context.Context, o startOptions) (*process, error) {
	p, err := s.start(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.starting(ctx)
	defer cancel()
	if err = p.greet(ctx); err == nil {
		err = p.connect(ctx, nil)
	}
	return p, p.orEnd(err)
}

// starting bounds a start.
func (s *subject) starting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("more than %v have passed", s.Timeout))
}

// prepare describes and configures a process that is connected, as a host does.
func (s *subject) prepare(ctx context.Context, p *process) error {
	about, err := p.client.Describe(ctx, s.describeRequest())
	if err != nil {
		return err
	}
	p.about = about
	if _, err := p.client.Configure(ctx, s.configuration(p.root)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fastest = min(s.fastest, time.Since(p.began))
	return nil
}

func (s *subject) describeRequest() *pluginv1.DescribeRequest {
	return &pluginv1.DescribeRequest{HostVersion: s.HostVersion}
}

// configuration is what the plugin is configured with.
func (s *subject) configuration(root string) *pluginv1.ConfigureRequest {
	return &pluginv1.ConfigureRequest{Root: root, ConfigJson: s.Config, Protected: []string{filepath.Join(s.dir, "protected")}}
}

// live returns a process that takes calls: the one that there is or, if that has ended, another.
func (s *subject) live(ctx context.Context) (_ *process, err error) {
	if s.main == nil || s.main.hasEnded() {
		if s.main, err = s.open(ctx, startOptions{}); err != nil {
			return nil, fmt.Errorf("it does not start again: %w", err)
		}
	}
	return s.main, nil
}

// lastWords returns the end of what the process wrote that did so last, if that was not before.
func (s *subject) lastWords(since time.Time) (words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.running {
		p.stderr.mu.Lock()
		if p.stderr.last.After(since) {
			words, since = string(p.stderr.end), p.stderr.last
		}
		p.stderr.mu.Unlock()
	}
	return words
}

// endTemp ends the name of the TMPDIR of a process that is loose.
const endTemp = "-end"
