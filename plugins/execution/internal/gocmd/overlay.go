package gocmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
)

// Overlay are files that the go command is to see, by path, in place of those that are
// there. An empty content hides a file.
type Overlay map[string]string

// Hide hides files of a directory.
func (o Overlay) Hide(dir string, files ...[]string) {
	for _, names := range files {
		for _, name := range names {
			o[filepath.Join(dir, name)] = ""
		}
	}
}

// Write writes the files to a new directory below temp, and a file for the go command's
// flag -overlay, whose path it returns.
func (o Overlay) Write(temp string) (string, error) {
	dir, err := os.MkdirTemp(temp, "overlay-")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, content := range o {
		if replace[path] = ""; content == "" {
			continue
		}
		// A directory each: files of several directories may have one name.
		own := filepath.Join(dir, strconv.Itoa(len(replace)))
		if err := os.Mkdir(own, 0o700); err != nil {
			return "", err
		}
		replace[path] = filepath.Join(own, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
