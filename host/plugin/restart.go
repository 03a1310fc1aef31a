package plugin

import "time"

// RestartPolicy says what becomes of a plugin that fails again and again: a start
// that does not succeed, or a run that ends by itself before it has lasted. The
// zero value means the defaults.
type RestartPolicy struct {
	// Free is how many failures in a row are each followed by a new start at once, 1 to 1000, or unlimited, with which
	// the other settings here have no effect.
	//
	// Below 0: unlimited.
	Free int `json:"free" minimum:"1" maximum:"1000" words:"unlimited=-1" default:"3" example:"5"`
	// Backoff is the pause before each later start, 1ms to 24h. Each further failure doubles it.
	//
	// A random part of up to a half is left out. Calls wait for a pause of up to a second, and are refused in a longer
	// one.
	Backoff time.Duration `json:"backoff" default:"100ms" example:"200ms"`
	// MaxBackoff is the longest pause, 1ms to 24h.
	MaxBackoff time.Duration `json:"max_backoff" default:"10s" example:"20s"`
	// Quarantine is how many failures in a row make the host refuse calls for a cooldown, 2 to 1001, and more than
	// free.
	//
	// Nothing is started then. After it one call may try it.
	Quarantine int `json:"quarantine" minimum:"2" maximum:"1001" default:"10" example:"20"`
	// Cooldown is how long calls are refused, 1ms to 24h. Each further cooldown is twice as long.
	Cooldown time.Duration `json:"cooldown" default:"30s" example:"1m"`
	// MaxCooldown is the longest cooldown, 1ms to 24h.
	MaxCooldown time.Duration `json:"max_cooldown" default:"10m" example:"1h"`
	// Lasting is how long a run that has answered a call must last for earlier failures to be forgotten, 1ms to 24h.
	Lasting time.Duration `json:"lasting" default:"10s" example:"1m"`
}
