package pluginrun

import (
	"time"

	"github.com/toolhost/toolhost/internal/cgroup"
)

// WithHealthPause is cfg with another pause between two looks at the plugin's health.
func WithHealthPause(cfg *Config, d time.Duration) { cfg.healthPause = d }

// WithGroups is cfg with control groups that are made differently.
func WithGroups(cfg *Config, create func(purpose string, l cgroup.Limits) (*cgroup.Group, error)) {
	cfg.createGroup = create
}

// WithFailing is cfg with a step of the stage that fails.
func WithFailing(cfg *Config, step func(steps int) int) { cfg.failing = step }
