package known

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Plugin is a plugin of a directory, an absolute path without links, or a server; see [At] and
// [Server].
type Plugin struct{ Dir, Name string }

// At returns the plugin of a file, whatever way leads to its directory.
func At(path, name string) Plugin {
	dir := filepath.Dir(path)
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	return Plugin{dir, name}
}

// Server returns a server, which is another one if its identity is.
func Server(identity, name string) Plugin {
	sum := sha256.Sum256([]byte(identity))
	return Plugin{"servers/" + hex.EncodeToString(sum[:8]), name}
}

// Record is what is known of a plugin.
type Record struct {
	// Names are its tools', as it calls them.
	Names []string `json:"names,omitempty"`
	// Offers are what a server has besides tools, as "prompt NAME", "resource URI" and "template URI";
	// Wants are those that it has, too, and another had first; Since is when it first had any.
	Offers []string  `json:"offers,omitempty"`
	Wants  []string  `json:"wants,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Ran says that Needs are those that were accepted: those with which it first ran, until the
	// operator accepts others. Nil: it ran undeclared.
	Ran   bool        `json:"ran,omitempty"`
	Needs *tool.Needs `json:"needs,omitempty"`
	// Enforced is what of its sandbox no start may do without; nil: it has not run.
	Enforced *sandbox.Enforced `json:"enforced,omitempty"`
	// Levels has the definitions of tools for which the operator gave levels, by [LevelKey].
	Levels map[string]string `json:"levels,omitempty"`
	// Path is its file's, and Kept are the binaries that served last, of which there are copies,
	// the newest first.
	Path string   `json:"path,omitempty"`
	Kept []Binary `json:"kept,omitempty"`
	// Rollback says that the operator went back to one of them; nil: he did not.
	Rollback *Rollback `json:"rollback,omitempty"`
	// Disabled and Enabled say that the operator has switched it off, or has ever switched it on.
	Disabled bool `json:"disabled,omitempty"`
	Enabled  bool `json:"enabled,omitempty"`
}

// Binary is a copy of a binary that served.
type Binary struct {
	SHA256  string    `json:"sha256"` // lower-case hexadecimal
	Version string    `json:"version,omitempty"`
	Size    int64     `json:"size"`
	Served  time.Time `json:"served"` // when it began to serve last
}

// Rollback says that a kept binary serves in place of a file.
type Rollback struct {
	From string `json:"from"` // digest of the file
	To   string `json:"to"`
}

// isEmpty reports whether nothing is known.
func (r Record) isEmpty() bool {
	return len(r.Names) == 0 && len(r.Levels) == 0 && r.Since.IsZero() && !r.Ran && r.Enforced == nil && len(r.Kept) == 0 && r.Rollback == nil &&
		!r.Disabled && !r.Enabled
}

// Records are what is known of all plugins, by directory and name. What a record refers to is
// never changed, but replaced.
type Records map[string]map[string]Record

// UnmarshalJSON refuses needs that no plugin can declare: they cannot be compared.
func (r *Records) UnmarshalJSON(text []byte) error {
	var all map[string]map[string]Record
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for dir, plugins := range all {
		for name, one := range plugins {
			if err := need.Check(one.Needs); err != nil {
				return fmt.Errorf("plugin %.100q of %.300q: %w", name, dir, err)
			}
			one.Needs = need.Normal(one.Needs)
			plugins[name] = one
		}
	}
	*r = all
	return nil
}

// Of returns what is known of a plugin.
func (r Records) Of(p Plugin) Record { return r[p.Dir][p.Name] }

// Change changes what is known of a plugin.
func (r Records) Change(p Plugin, change func(*Record)) {
	one := r.Of(p)
	change(&one)
	switch {
	case one.isEmpty():
		if delete(r[p.Dir], p.Name); len(r[p.Dir]) == 0 {
			delete(r, p.Dir)
		}
		return
	case r[p.Dir] == nil:
		r[p.Dir] = map[string]Record{}
	}
	r[p.Dir][p.Name] = one
}

// Ran notes with which needs a plugin runs. What is known of one already stays, but one that ran
// undeclared and declares its needs now is held to that.
func (r Records) Ran(p Plugin, n *tool.Needs) {
	if before := r.Of(p); !before.Ran || before.Needs == nil {
		r.Accept(p, n)
	}
}

// Accept notes what the operator has accepted of a plugin's needs, in place of what was known.
func (r Records) Accept(p Plugin, n *tool.Needs) {
	r.Change(p, func(one *Record) { one.Ran, one.Needs = true, need.Normal(n) })
}

// Loosen notes that the operator accepts that lines of a plugin's sandbox are open.
func (r Records) Loosen(p Plugin, lines []string) {
	r.Change(p, func(one *Record) { one.Enforced = one.Enforced.Without(lines) })
}

// holders returns which plugins have had which names, and what else.
func (r Records) holders() map[string][]Plugin {
	out := map[string][]Plugin{}
	for _, dir := range slices.Sorted(maps.Keys(r)) {
		for _, plugin := range slices.Sorted(maps.Keys(r[dir])) {
			one := r[dir][plugin]
			for _, name := range slices.Concat(one.Names, one.Offers) {
				out[name] = append(out[name], Plugin{dir, plugin})
			}
		}
	}
	return out
}

// clone shares what records refer to.
func (r Records) clone() Records {
	out := Records{}
	for dir, plugins := range r {
		out[dir] = maps.Clone(plugins)
	}
	return out
}

// maxDirs is how many directories are remembered, unless they all exist.
const maxDirs = 1000

// forgetMissing forgets directories that do not exist, if there are many, unless the operator has
// disabled something there. Others that do not exist now may come back.
func (r Records) forgetMissing() {
	if len(r) <= maxDirs {
		return
	}
	for dir, plugins := range r {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		maps.DeleteFunc(plugins, func(_ string, one Record) bool { return !one.Disabled })
		if len(plugins) == 0 {
			delete(r, dir)
		}
	}
}
