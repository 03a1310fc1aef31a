package cgroup

import (
	"context"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
)

// Sweep kills and removes what hosts left here that were killed, until ctx ends. It touches
// only groups whose names say that a host made them that is certainly dead; see
// [confine.Sweep]. Groups of a host that was in another cgroup are in that one, and go with it.
func (t *Tree) Sweep(ctx context.Context) {
	swept := map[string]bool{}
	for _, p := range t.parents {
		if p.err != nil || swept[p.dir] {
			continue
		}
		swept[p.dir] = true
		until, bounded := ctx.Deadline()
		if !bounded {
			until = time.Now().Add(endTime)
		}
		inDirs(p.dir, until, func(name string) {
			if ctx.Err() != nil || !confine.Orphaned(name) {
				return
			}
			left := Group{kernel: t.kernel, parts: []part{{dir: filepath.Join(p.dir, name), v2: p.v2}}}
			_ = left.Close() // what cannot be removed stays for the next
		})
	}
}
