package worktest_test

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// module is a dependency, as a proxy of modules has it.
var module = map[string]string{
	"list":        "v1.0.0\n",
	"v1.0.0.info": `{"Version":"v1.0.0"}`,
	"v1.0.0.mod":  "module example.test/dep\n\ngo 1.21\n",
}

const (
	depSource  = "package dep\n\nconst Word = \"dependency\"\n"
	mainSource = "package main\n\nimport (\n\t\"os\"\n\n\t\"example.test/dep\"\n)\n\nfunc main() { _, _ = os.Stdout.WriteString(dep.Word) }\n"
	testSource = "package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n\n\t\"example.test/dep\"\n)\n\n" +
		"func TestWord(t *testing.T) {\n\tif err := os.WriteFile(t.TempDir()+\"/f\", []byte(dep.Word), 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"
	cgoSource = "package c\n\n// int three(void) { return 3; }\nimport \"C\"\n\nfunc Three() int { return int(C.three()) }\n"
	cgoTest   = "package c\n\nimport \"testing\"\n\nfunc TestThree(t *testing.T) {\n\tif Three() != 3 {\n\t\tt.Fatal(Three())\n\t}\n}\n"
)

// gopher is the go command's environment.
type gopher struct {
	root, modules, cache string
	env                  []string
}

// gophers is made once, as compiling the standard library takes the longest of all. The tests
// share the cache, as those who use the go command do.
var gophers = sync.OnceValues(func() (g gopher, err error) {
	dir, err := os.MkdirTemp("", "worktest-go-")
	if err != nil {
		return g, err
	}
	atEnd = append(atEnd, func() { _ = os.RemoveAll(dir) })
	root, err := exec.Command("go", "env", "GOROOT").Output() //nolint:noctx // at once
	if err != nil {
		return g, err
	}
	proxy := filepath.Join(dir, "proxy")
	g = gopher{root: strings.TrimSpace(string(root)), modules: filepath.Join(dir, "mod"), cache: filepath.Join(dir, "cache")}
	g.env = []string{
		"GOMODCACHE=" + g.modules, "GOCACHE=" + g.cache, "GOTMPDIR=" + g.cache, "GOPATH=" + dir, "GOPROXY=off", "GONOSUMDB=*",
		"GOFLAGS=-mod=mod '-gcflags=all=-N -l'", "GOTOOLCHAIN=local", "GOENV=off", "GOTELEMETRY=off", "GOWORK=off", "CGO_ENABLED=0",
	}
	versions := filepath.Join(proxy, "example.test", "dep", "@v")
	for _, dir := range []string{g.cache, g.modules, versions} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return g, err
		}
	}
	for name, text := range module {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(text), 0o600); err != nil {
			return g, err
		}
	}
	f, err := os.Create(filepath.Join(versions, "v1.0.0.zip"))
	if err != nil {
		return g, err
	}
	defer func() { _ = f.Close() }()
	z := zip.NewWriter(f)
	for name, text := range map[string]string{"go.mod": module["v1.0.0.mod"], "dep.go": depSource} {
		w, err := z.Create("example.test/dep@v1.0.0/" + name)
		if err != nil {
			return g, err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return g, err
		}
	}
	if err := z.Close(); err != nil {
		return g, err
	}
	cmd := exec.Command("go", "mod", "download", "-modcacherw", "example.test/dep@v1.0.0") //nolint:noctx // at once
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), g.env...), "GOPROXY=file://"+proxy)
	if out, err := cmd.CombinedOutput(); err != nil {
		return g, &exec.Error{Name: string(out), Err: err}
	}
	return g, nil
})

func TestGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes two minutes: .ci/long runs it")
	}
	g := require.Must(gophers())(t)
	needs := &tool.Needs{
		Read: []string{g.root, g.modules}, Write: []string{tool.Workspace, g.cache},
		Exec: []string{"go", g.root, g.cache, tool.Workspace},
	}
	if compiler, err := exec.LookPath("gcc"); err == nil {
		needs.Exec = append(needs.Exec, compiler, "as", "ld")
		for _, part := range []string{"cc1", "collect2"} {
			path := require.Must(exec.CommandContext(t.Context(), compiler, "-print-prog-name="+part).Output())(t)
			needs.Exec = append(needs.Exec, strings.TrimSpace(string(path)))
		}
	}
	inBoxes(t, needs, func(t *testing.T, p *place) {
		p.file(t, "go.mod", "module example.test/small\n\ngo 1.24\n\nrequire example.test/dep v1.0.0\n")
		p.file(t, "main.go", mainSource)
		p.file(t, "main_test.go", testSource)
		p.runWith(t, g.env, "go", "vet", ".")
		p.runWith(t, g.env, "go", "build", "-o", "small", ".")
		assert.Equalf(t, p.run(t, filepath.Join(p.root, "small")), "dependency", "it prints")
		p.runWith(t, g.env, "go", "test", "-count=1", ".")
		if len(needs.Exec) > 4 {
			p.file(t, "c/c.go", cgoSource)
			p.file(t, "c/c_test.go", cgoTest)
			p.runWith(t, append(g.env, "CGO_ENABLED=1", "CC=gcc"), "go", "test", "-count=1", "./c")
		}
		p.refused(t, "true")
	})
}
