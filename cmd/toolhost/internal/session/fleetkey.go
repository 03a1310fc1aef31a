package session

import (
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/state"
)

// FleetKeyPath returns the file of the host's key in a fleet, which need not exist.
//
// # Errors
//
// [*exit.Error] if the configuration names none, and the system does not say where the user's files are.
func FleetKeyPath(n config.NATS) (string, error) {
	if n.Key != "" {
		return n.Key, nil
	}
	dir, err := state.Dir()
	if err != nil {
		return "", exit.Usage("there is no default place for the host's key: "+err.Error(), "name one with nats.key")
	}
	return filepath.Join(dir, "fleet.key"), nil
}

// FleetKey returns the host's key in a fleet, and makes one if there is none.
//
// # Errors
//
// [*exit.Error] if the file cannot be used.
func FleetKey(n config.NATS) (fleet.Key, error) {
	path, err := FleetKeyPath(n)
	if err != nil {
		return fleet.Key{}, err
	}
	key, err := fleet.KeyFile(path)
	if err != nil {
		return fleet.Key{}, exit.Usage("the host's key in its fleet cannot be used: "+err.Error(), "mend "+path+", or name another file with nats.key")
	}
	return key, nil
}
