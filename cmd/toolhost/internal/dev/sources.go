package dev

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// sources are the files that a plugin is built from: those of the project that git does not ignore
// or, without git, all but hidden ones and what builds leave.
type sources struct {
	dir    string
	output string // that is not one of them
	calls  *calls
	known  map[string]seen
	// data are notes and the like that a call changed last: true if they are the plugin's own, and no sources;
	// false: the next build tells.
	data map[string]bool
}

// seen is a file as it was when it was read last.
type seen struct {
	mode  fs.FileMode
	size  int64
	mtime time.Time
	sum   [sha256.Size]byte
}

const (
	maxSources = 20000
	maxHashed  = 8 << 20 // larger files are told apart by size and time
	gitTime    = 10 * time.Second
)

// leftByBuilds are directories that are not looked into where git does not say what to ignore.
var leftByBuilds = []string{"bin", "build", "dist", "target", "node_modules", "__pycache__"}

// isLeft reports whether a directory of that name is not looked into.
func isLeft(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains(leftByBuilds, name)
}

func newSources(p *Project, c *calls) *sources {
	return &sources{dir: p.Dir, output: p.output, calls: c, data: map[string]bool{}}
}

// dataEndings are those of files that a plugin may keep in its workspace. A change of code is never taken for
// the plugin's own: a comment changes nothing in what is built, and the next line does.
var dataEndings = []string{".md", ".txt", ".json", ".jsonl", ".csv", ".log", ".db", ".sqlite"}

// classify says whether a change of a file is one of the plugin's own.
func (s *sources) classify(path string, one seen, isNew bool) (own bool) {
	if !slices.Contains(dataEndings, filepath.Ext(path)) {
		return false
	}
	if !s.calls.during(one.mtime) {
		delete(s.data, path)
		return false
	}
	s.data[path] = s.data[path] || isNew
	return s.data[path]
}

// built says whether the last build has made anything else than the one before.
func (s *sources) built(changed bool) {
	for path, own := range s.data {
		if changed && !own {
			delete(s.data, path)
			continue
		}
		s.data[path] = true
	}
}

// look reports whether the sources are others than at the last look, and returns the directories that have
// them.
func (s *sources) look(ctx context.Context) (changed bool, dirs []string, err error) {
	files, err := s.list(ctx)
	if err != nil {
		return false, nil, err
	}
	first := s.known == nil
	known := make(map[string]seen, len(files))
	in := map[string]bool{s.dir: true}
	for _, rel := range files {
		path := filepath.Join(s.dir, rel)
		if path == s.output {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
			continue // git lists what was removed, too
		}
		one := s.read(path, info)
		known[path] = one
		if last, old := s.known[path]; last.sum != one.sum || last.mode != one.mode {
			changed = !s.classify(path, one, !old) || changed
		}
		for up := filepath.Dir(path); len(up) > len(s.dir); up = filepath.Dir(up) {
			in[up] = true
		}
	}
	for path := range s.known {
		if _, there := known[path]; !there && !s.data[path] {
			changed = true
		}
	}
	s.known = known
	for dir := range in {
		dirs = append(dirs, dir)
	}
	return changed || first, dirs, nil
}

// read returns what a file has, which it need not read again if it looks as it did.
func (s *sources) read(path string, info fs.FileInfo) seen {
	one := seen{mode: info.Mode(), size: info.Size(), mtime: info.ModTime()}
	// A file that was written in the same moment may look the same, and be another.
	last, ok := s.known[path]
	same := ok && last.mode == one.mode && last.size == one.size && last.mtime.Equal(one.mtime)
	if same && time.Since(one.mtime) > time.Second {
		return last
	}
	one.sum = sha256.Sum256(fmt.Append(nil, one.size, one.mtime.UnixNano()))
	if !info.Mode().IsRegular() {
		target, _ := os.Readlink(path)
		one.sum = sha256.Sum256([]byte(target))
	} else if one.size <= maxHashed {
		if f, err := os.Open(path); err == nil {
			sum := sha256.New()
			if _, err := io.Copy(sum, io.LimitReader(f, maxHashed+1)); err == nil {
				sum.Sum(one.sum[:0])
			}
			_ = f.Close()
		}
	}
	return one
}

// list returns the sources, relative to the directory and sorted.
func (s *sources) list(ctx context.Context) ([]string, error) {
	files, ok := s.gitFiles(ctx)
	if !ok {
		var err error
		if files, err = s.walk(); err != nil {
			return nil, err
		}
	}
	if len(files) > maxSources {
		return nil, fmt.Errorf("%s has more than %d files", s.dir, maxSources)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// gitFiles asks git; false: the directory is not in a work tree of it, or it is ignored there.
func (s *sources) gitFiles(ctx context.Context) ([]string, bool) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	git := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false"}, args...)...) //nolint:gosec // fixed
		cmd.Dir = s.dir
		return cmd.Output()
	}
	if _, err := git("check-ignore", "-q", "."); err == nil {
		return nil, false
	}
	out, err := git("ls-files", "-z", "--cached", "--others", "--exclude-standard", ".")
	if err != nil {
		return nil, false
	}
	var files []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if len(name) > 0 {
			files = append(files, string(name))
		}
	}
	return files, true
}

func (s *sources) walk() (files []string, err error) {
	err = filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case path == s.dir:
			return err
		case err != nil: // it is gone, or may not be read
			return nil //nolint:nilerr // a build says more
		case e.IsDir() && isLeft(e.Name()):
			return fs.SkipDir
		case e.IsDir() || strings.HasPrefix(e.Name(), "."):
			return nil
		case len(files) > maxSources:
			return fs.SkipAll
		}
		rel, err := filepath.Rel(s.dir, path)
		files = append(files, rel)
		return err
	})
	return files, err
}
