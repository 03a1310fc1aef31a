package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/toolhost/toolhost/bench/internal/work"
)

// writeProfiles writes a CPU profile of this process, the host, for each carrier, with
// one caller and with many.
func (b *bench) writeProfiles(ctx context.Context) error {
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		return err
	}
	for _, name := range []string{toolhostSocket, toolhostStream, bareUnary} {
		for _, callers := range []int{1, manyCallers} {
			path := filepath.Join(b.profile, fmt.Sprintf("%s-%d.pprof", name, callers))
			err := b.turn(ctx, "a profile", func(ctx context.Context, b *bench) error {
				return b.writeProfile(ctx, path, b.variant(name), slot{job: work.Small(), callers: callers, length: 5 * time.Second})
			})
			if err != nil {
				return err
			}
			b.logf("%s", path)
		}
	}
	return nil
}

func (b *bench) writeProfile(ctx context.Context, path string, v *variant, s slot) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	_, err = b.drive(ctx, v, s)
	return err
}
