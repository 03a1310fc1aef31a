package worktest_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// python is an interpreter, and the directories that it reads.
type python struct {
	path string
	read []string
}

// pythons returns the interpreters that are here, without those that start others.
func pythons(t *testing.T) map[string]python {
	t.Helper()
	out := map[string]python{}
	for name, path := range map[string]string{"first": "python3", "system": "/usr/bin/python3"} {
		text, err := exec.CommandContext(t.Context(), path, "-c", "import os, sys; print(os.path.realpath(sys.executable)); print(sys.prefix)").Output()
		if lines := strings.Split(string(text), "\n"); err == nil && len(lines) > 1 {
			out[name] = python{lines[0], []string{lines[1]}}
		}
	}
	if len(out) == 0 {
		t.Skip("Python is not here")
	}
	return out
}

// script has a bit of all that scripts do.
const script = `
import ctypes, multiprocessing, os, pathlib, sqlite3, ssl, subprocess, sys, tempfile, threading, zlib
from concurrent.futures import ProcessPoolExecutor

def double(n):
    return 2 * n

if __name__ == "__main__":
    assert ctypes.CDLL(None).getpid() == os.getpid()
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(double)
    assert callback(4) == 8
    if "namespaces" in sys.argv:
        for method in "fork", "spawn", "forkserver":
            with multiprocessing.get_context(method).Pool(2) as pool:
                assert pool.map(double, [1, 2, 3]) == [2, 4, 6]
        with ProcessPoolExecutor(2) as pool:
            assert list(pool.map(double, [5])) == [10]
        queue = multiprocessing.Queue()
        child = multiprocessing.Process(target=queue.put, args=("queued",))
        child.start()
        assert queue.get() == "queued"
        child.join()
    said = subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True, check=True)
    assert said.stdout == "child\n"
    with tempfile.TemporaryDirectory() as d:
        db = sqlite3.connect(os.path.join(d, "a.db"))
        db.execute("create table t (a)")
        db.close()
    ssl.create_default_context()
    pathlib.Path("made").write_text(zlib.decompress(zlib.compress(b"made")).decode())
    print("well")
`

func TestPython(t *testing.T) {
	t.Parallel()
	here := pythons(t)
	for name, python := range here {
		if _, first := here["first"]; testing.Short() && first && name != "first" {
			continue // what a Python does is the same
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs := &tool.Needs{Read: python.read, Write: []string{tool.Workspace}, Exec: []string{python.path, tool.Workspace}}
			inBoxes(t, needs, func(t *testing.T, p *place) {
				p.file(t, "script.py", script)
				line := []string{python.path, "script.py"}
				if p.namespaces { // else it has no semaphores of its own, and connects no socket
					line = append(line, "namespaces")
				}
				assert.Equalf(t, p.run(t, line...), "well\n", "it prints")
				p.run(t, python.path, "-m", "venv", "--without-pip", "venv")
				interpreter := filepath.Join(p.root, "venv", "bin", "python")
				site := strings.TrimSpace(p.run(t, interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
				rel := require.Must(filepath.Rel(p.root, site))(t)
				p.file(t, filepath.Join(rel, "greeting", "__init__.py"), "word = 'hello'\n")
				assert.Equalf(t, p.run(t, interpreter, "-c", "import greeting; print(greeting.word)"), "hello\n", "it prints")
				p.native(t, python, interpreter, site)
				p.refused(t, "true")
			})
		})
	}
}

// native imports a module that is machine code, and lies where packages are installed in the
// workspace.
func (p *place) native(t *testing.T, python python, interpreter, site string) {
	t.Helper()
	found, err := exec.CommandContext(t.Context(), python.path, "-c", "import _json; print(_json.__file__)").Output()
	if err != nil {
		t.Skipf("this Python has no module of machine code: %v", err)
	}
	library := strings.TrimSpace(string(found))
	copied := filepath.Join(site, strings.Replace(filepath.Base(library), "_json", "_copy", 1))
	const load = "import importlib.machinery, importlib.util, sys; l = importlib.machinery.ExtensionFileLoader('_json', sys.argv[1]); " +
		"m = importlib.util.module_from_spec(importlib.util.spec_from_loader('_json', l)); l.exec_module(m); print(m.encode_basestring('a'))"
	p.run(t, interpreter, "-c", "import shutil, sys; shutil.copy(*sys.argv[1:])", library, copied)
	assert.Equalf(t, p.run(t, interpreter, "-c", load, copied), "\"a\"\n", "it prints")
}
