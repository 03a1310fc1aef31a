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

// cache remembers what plugins say of themselves, in the directory that the
// environment names or else in toolhost/ in the user's directory for caches. Where
// the system knows none, nothing is remembered.
func cache() []host.Option {
	dir := os.Getenv(cacheVariable)
	switch dir {
	case noCache:
		return nil
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(base, "toolhost")
	}
	return []host.Option{host.WithCache(dir)}
}
