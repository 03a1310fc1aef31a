package main

import (
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host"
)

// cacheVariable names the directory for what plugins said of themselves.
const cacheVariable = "TOOLHOST_CACHE_DIR"

// noCache, in place of a directory, starts every plugin each time.
const noCache = "off"

// cache remembers what plugins say of themselves, in the directory that somebody or the
// environment names or else in toolhost/ in the user's directory for caches. Where
// the system knows none, nothing is remembered.
func cache(named string) []host.Option {
	dir := cacheDir(named)
	if dir == "" {
		return nil
	}
	return []host.Option{host.WithCache(dir)}
}

func cacheDir(named string) string {
	dir := chosen("", named, cacheVariable)
	switch dir {
	case noCache:
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(base, "toolhost")
	}
	return dir
}
