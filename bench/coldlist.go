package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

var (
	listCold = figure{"list_cold_ms", "toolhost tools, a directory of plugins, nothing cached, whole process, ms"}
	listWarm = figure{"list_warm_ms", "toolhost tools, a directory of plugins, warm cache, whole process, ms"}
)

// Variables of the command.
const (
	cacheVariable = "TOOLHOST_CACHE_DIR"
	auditVariable = "TOOLHOST_AUDIT"
)

// coldList is the tools of a hundred plugins, as a new process lists them. The
// plugins are links to one file: hashing a hundred different ones would make the
// first listing slower, and the ratio better.
func coldList() measurement {
	var dir string
	return measurement{
		name: "cold-list",
		start: func(_ context.Context, b *bench) error {
			names := make([]string, b.sizes.plugins)
			for i := range names {
				names[i] = fmt.Sprintf("p%03d", i)
			}
			var err error
			dir, err = b.plugins("many", "named", names...)
			return err
		},
		measure: func(ctx context.Context, b *bench) error {
			cache, err := os.MkdirTemp(b.dir, "cache-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(cache) //nolint:errcheck // the parent is removed as well
			list := func() error {
				out, err := execute(ctx, b.binary(""), []string{cacheVariable + "=" + cache}, b.binary("toolhost"), "tools", "--plugin-dir", dir)
				if n := strings.Count(out, "\np"); err == nil && n != b.sizes.plugins {
					err = fmt.Errorf("toolhost tools lists %d of %d tools:\n%s", n, b.sizes.plugins, out)
				}
				return err
			}
			cold, err := timed(list)
			if err != nil {
				return err
			}
			warm := make([]float64, b.sizes.repeats)
			for i := range warm {
				if warm[i], err = timed(list); err != nil {
					return err
				}
			}
			b.add(listCold, "toolhost", cold)
			b.add(listWarm, "toolhost", warm...)
			return nil
		},
		keys: []key{{
			name: "cold_list_100", about: "toolhost tools, 100 plugins, warm cache, against starting them all", target: .05,
			value: func(r *results) float64 { return r.over(listWarm, "toolhost", listCold, "toolhost") },
		}},
	}
}
