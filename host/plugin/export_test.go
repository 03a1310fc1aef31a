package plugin

import "time"

// WithHealthPause is cfg with another pause between two looks at the plugin's health.
func WithHealthPause(cfg *Config, d time.Duration) { cfg.healthPause = d }
