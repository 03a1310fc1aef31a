package source

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Patterns match the workspace's packages. In a go.work workspace, "./..." does not
// match modules below a root that is not a module itself, so each is named. moduleDir is what
// [gocode.ModuleDir] returns for the root.
func Patterns(root Root, moduleDir string) []string {
	everything := []string{"./..."}
	work := filepath.Join(moduleDir, "go.work")
	content, err := os.ReadFile(work)
	if err != nil || os.Getenv("GOWORK") == "off" {
		return everything
	}
	parsed, err := modfile.ParseWork(work, content, nil)
	if err != nil {
		return everything
	}
	var out []string
	for _, use := range parsed.Use {
		dir := use.Path
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(moduleDir, dir)
		}
		if rel, ok := root.Relative(dir); ok {
			out = append(out, strings.TrimSuffix("./"+rel, "/.")+"/...")
		}
	}
	if len(out) == 0 {
		return everything
	}
	return out
}
