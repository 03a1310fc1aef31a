// Command release makes the archives of a release, below dist: the command and the plugins that
// ship with it, for each platform, ready to run where they are unpacked, and SHA256SUMS. Run it
// in the repository's root, as make release does. The same commit and the same Go give the same
// bytes: nothing has a time, an owner or a path of the machine.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// platforms are those that a release has archives for.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}

// documents are in each archive.
var documents = []string{"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"}

func main() {
	out := flag.String("out", "dist", "the `DIR` of the archives, which is made")
	only := flag.String("platforms", strings.Join(platforms, ","), "for these, separated by commas")
	flag.Parse()
	if err := release(*out, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(out string, platforms []string) error {
	version, err := versionOf()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // for all to read
		return err
	}
	var sums strings.Builder
	for _, platform := range platforms {
		name, archive, err := pack(platform, version)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), archive, 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive), name)
		fmt.Fprintln(os.Stderr, filepath.Join(out, name))
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644) //nolint:gosec // for all to read
}

// versionOf is the version of a release: that of the tag, which is the program's own. A commit
// without a tag gives a version that says so.
func versionOf() (string, error) {
	described, err := exec.Command("git", "describe", "--tags", "--exact-match").Output()
	if tag := strings.TrimSpace(string(described)); err == nil {
		if tag != "v"+host.Version {
			return "", fmt.Errorf("the tag is %s, but the program says v%s (host.Version)", tag, host.Version)
		}
		return host.Version, nil
	}
	return host.Version + "-dev", nil
}

// pack builds for a platform and returns the archive and its name.
func pack(platform, version string) (name string, archive []byte, err error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return "", nil, fmt.Errorf("a platform is SYSTEM/ARCHITECTURE, such as linux/amd64")
	}
	dir, err := os.MkdirTemp("", "toolhost-release-")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	plugins, err := filepath.Glob("plugins/*/main.go")
	if err != nil {
		return "", nil, err
	}
	for to, packages := range map[string][]string{".": {"cmd/toolhost/main.go"}, "plugins": plugins} {
		args := []string{"build", "-trimpath", "-ldflags", "-s -w -buildid=", "-o", filepath.Join(dir, to) + string(filepath.Separator)}
		for _, p := range packages {
			args = append(args, "./"+filepath.ToSlash(filepath.Dir(p)))
		}
		build := exec.Command("go", args...)
		build.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if text, err := build.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("%s: %w\n%s", build, err, text)
		}
	}
	var files []file
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, file{name: name, from: filepath.Join(dir, name), mode: 0o755})
		}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	for _, d := range documents {
		files = append(files, file{name: d, from: d, mode: 0o644})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	name = fmt.Sprintf("toolhost_%s_%s_%s", version, system, arch)
	archive, err = tarred(name, files)
	return name + ".tar.gz", archive, err
}
