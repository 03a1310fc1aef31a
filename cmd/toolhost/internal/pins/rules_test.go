package pins_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// place is a plugin directory, and a directory with a configuration and maybe its lock. Its tests are
// not parallel, as the record is where the environment says.
type place struct {
	t             *testing.T
	state, dir    string
	root, lock    string
	user          string // the user's lock, if dir is what is installed
	config        config.Config
	keeper        pins.Keeper
	trusted       bool
	ignored, lost []string // what was told
}

func newPlace(t *testing.T) *place {
	t.Helper()
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	dir := func() string { return require.Must(filepath.EvalSymlinks(t.TempDir()))(t) }
	p := &place{t: t, state: state, dir: dir(), root: dir()}
	p.lock = filepath.Join(p.root, pins.LockName)
	return p
}

func (p *place) write(path string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(path, []byte("format 2\n"), 0o600))
}

func (p *place) rules() (pins.Rules, error) {
	src := pins.Source{
		Config: &p.config, ConfigPath: filepath.Join(p.root, "toolhost.yaml"), Dirs: []string{p.dir},
		Trusts:     func(string, string) (bool, error) { return p.trusted, nil },
		Ignored:    func(path string) { p.ignored = append(p.ignored, path) },
		Unrecorded: func(lock string, _ error) { p.lost = append(p.lost, lock) },
	}
	if p.user != "" {
		src.User, src.Installed = p.user, p.dir
	}
	return p.keeper.Rules(src)
}

// locks are the locks that count, and a "!" after those that are required.
func (p *place) locks() (out []string) {
	p.t.Helper()
	for _, l := range require.Must(p.rules())(p.t).Locks {
		out = append(out, l.File+map[bool]string{true: "!"}[l.Required])
	}
	return out
}

func (p *place) counts(want ...string) {
	p.t.Helper()
	if got := p.locks(); !slices.Equal(got, want) {
		p.t.Errorf("the locks are %q, want %q", got, want)
	}
}

// A lock that was found counts if it is trusted. Seeing it is enough for it to be wanted: in its
// project, and elsewhere for plugins that lie in the project.
func TestRulesOfWhatWasSeen(t *testing.T) {
	p := newPlace(t)
	p.counts()
	p.write(p.lock)
	if p.counts(); !slices.Equal(p.ignored, []string{p.lock}) {
		t.Errorf("it tells of %q", p.ignored)
	}
	p.trusted = true
	p.counts(p.lock)
	p.counts(p.lock)
	require.Must(p.rules())(t).Locks[0].Seen()
	p.trusted = false
	p.counts(p.lock + "!")
	require.NoError(t, os.Remove(p.lock))
	p.counts(p.lock + "!")

	other := newPlace(t)
	other.state, other.dir = p.state, p.dir
	t.Setenv("XDG_STATE_HOME", p.state)
	other.counts()
	other.write(other.lock)
	other.trusted = true
	other.counts(other.lock)
	other.dir = filepath.Join(p.root, "plugins")
	require.NoError(t, os.Mkdir(other.dir, 0o700))
	require.Must(pins.Pin(p.lock, "", []string{other.dir}, pins.Also))(t)
	other.counts(other.lock, p.lock+"!")

	require.NoError(t, pins.Forget(p.lock, "", []string{p.dir}, ""))
	p.counts()
}

// A lock of all that there is, which was written without a configuration, counts wherever a command
// runs; another lock, in another directory, does not stand for the one that is missing.
func TestRulesOfAllThatThereWas(t *testing.T) {
	p := newPlace(t)
	if kept, err := pins.Pin(p.lock, "", []string{p.dir}, pins.Everywhere); !kept || err != nil {
		t.Errorf("pinned by hand: %t, %v", kept, err)
	}
	p.counts(p.lock + "!")
	other := newPlace(t)
	other.state, other.dir = p.state, p.dir
	t.Setenv("XDG_STATE_HOME", p.state)
	other.counts(p.lock + "!")
	if r := require.Must(other.rules())(t); r.File != p.lock || r.Own != other.lock || !slices.Equal(r.Locks[0].Dirs, []string{p.dir}) || !r.Locks[0].Servers {
		t.Errorf("elsewhere the rules are %+v", r)
	}
	other.write(other.lock)
	other.counts(p.lock + "!")
	other.trusted = true
	other.counts(other.lock, p.lock+"!")
	require.NoError(t, pins.Forget(other.lock, "", []string{p.dir}, ""))
	other.counts(other.lock)
}

// What is installed for the user has a lock of its own, next to it.
func TestRulesOfTheUser(t *testing.T) {
	p := newPlace(t)
	t.Setenv("XDG_STATE_HOME", p.state)
	p.user = require.Must(pins.UserLock(p.dir))(t)
	assert.Equalf(t, p.user, p.dir+".lock", "the lock")
	p.counts()
	p.write(p.user)
	p.counts(p.user)
	r := require.Must(p.rules())(t)
	if r.File != p.user || r.Locks[0].Servers || !slices.Equal(r.Locks[0].Dirs, []string{p.dir}) {
		t.Errorf("the rules are %+v", r)
	}
	r.Locks[0].Seen()
	require.NoError(t, os.Remove(p.user))
	p.counts(p.user + "!")
	p.write(p.lock)
	p.trusted = true
	p.counts(p.lock, p.user+"!")
	require.NoError(t, pins.Forget(p.lock, p.user, []string{p.dir}, p.user))
	p.counts(p.lock, p.user+"!")
	require.NoError(t, pins.Forget(p.user, p.user, []string{p.dir}, ""))
	p.counts(p.lock)
}

// A record that cannot be read may require a lock, so it decides nothing.
func TestRulesOfADamagedRecord(t *testing.T) { //nolint:paralleltest // newPlace sets the environment
	p := newPlace(t)
	record := filepath.Join(p.state, "toolhost", "locked.json")
	require.Must(pins.Pin(p.lock, "", []string{p.dir}, pins.Everywhere))(t)
	fails := func(texts ...string) {
		t.Helper()
		_, err := p.rules()
		assert.Equalf(t, exit.Status(err), exit.BadUsage, "it is %v", err)
		for _, text := range append(texts, "locked.json") {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("it is %v, without %q", err, text)
			}
		}
	}
	require.NoError(t, os.WriteFile(record, []byte("{"), 0o600))
	fails("mend or remove")
	require.NoError(t, os.Remove(record))
	require.NoError(t, os.Symlink(record+"-target", record))
	fails("a file that is not there")
	p.config.Lock = config.LockOff // it is the operator's word, whatever was recorded
	p.counts()
}

// The configuration has the last word.
func TestRulesOfTheConfiguration(t *testing.T) { //nolint:paralleltest // newPlace sets the environment
	p := newPlace(t)
	p.config = config.Config{File: filepath.Join(p.root, "toolhost.yaml"), Lock: config.LockRequired}
	p.counts(p.lock + "!")
	p.config.Lock = filepath.Join(p.root, "named")
	p.counts(p.config.Lock + "!")
	require.Must(pins.Pin(p.config.Lock, "", []string{p.dir}, pins.Instead))(t)
	p.config.Lock = ""
	p.counts(p.lock, filepath.Join(p.root, "named")+"!") // which it named before, and is on record
	p.config.Lock = config.LockOff
	if r := require.Must(p.rules())(t); !r.Off || len(r.Locks) > 0 {
		t.Errorf("locks are off: %+v", r)
	}
}

// A configuration file can be a link: the lock next to its target counts if there is none next to the
// link.
func TestRulesNextToALinkedConfiguration(t *testing.T) { //nolint:paralleltest // newPlace sets the environment
	p := newPlace(t)
	p.write(p.lock)
	target := filepath.Join(p.root, "toolhost.yaml")
	require.NoError(t, os.WriteFile(target, nil, 0o600))
	link := filepath.Join(require.Must(filepath.EvalSymlinks(t.TempDir()))(t), "linked.yaml")
	require.NoError(t, os.Symlink(target, link))
	c := &config.Config{File: link}
	own := require.Must(pins.OwnLock(c, link))(t)
	assert.Equalf(t, own.File, p.lock, "the lock")
	next := filepath.Join(filepath.Dir(link), pins.LockName)
	p.write(next)
	if own := require.Must(pins.OwnLock(c, link))(t); own.File != next {
		t.Errorf("the lock is %s, want %s", own.File, next)
	}
}

// Without a place to keep that there was a lock, one that is there counts, and this process goes on to
// want it.
func TestRulesWithoutAStateDirectory(t *testing.T) {
	p := newPlace(t)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if kept, err := pins.Pin(p.lock, "", []string{p.dir}, pins.Everywhere); kept || err != nil {
		t.Errorf("it is kept: %t, %v", kept, err)
	}
	p.write(p.lock)
	p.counts(p.lock)
	require.Must(p.rules())(t).Locks[0].Seen()
	require.NoError(t, os.Remove(p.lock))
	p.counts(p.lock + "!")
	if len(p.lost) > 0 {
		t.Errorf("it tells of %q, as if it was a fault", p.lost)
	}
}

// What cannot be recorded is wanted by this process, and told.
func TestRulesThatAreNotRecorded(t *testing.T) { //nolint:paralleltest // newPlace sets the environment
	p := newPlace(t)
	p.config.File = filepath.Join(p.root, "toolhost.yaml")
	p.write(p.lock)
	seen := require.Must(p.rules())(t).Locks[0].Seen
	require.NoError(t, os.WriteFile(filepath.Join(p.state, "toolhost"), nil, 0o600)) // where a directory should be
	seen()
	assert.EqualSlicesf(t, p.lost, []string{p.lock}, "it tells of")
	require.NoError(t, os.Remove(filepath.Join(p.state, "toolhost")))
	require.NoError(t, os.Remove(p.lock))
	p.counts(p.lock + "!")
}
