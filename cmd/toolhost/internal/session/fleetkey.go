package session

import (
	"errors"
	"io/fs"
	"os"
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

// NextFleetKey returns the key that the host is to have next, and makes one if there is none. With use, it becomes the host's
// key for the next start; the one before stays in a file with .old at its end.
//
// # Errors
//
// [*exit.Error] if a file cannot be used, or there is no next key to use.
func NextFleetKey(n config.NATS, use bool) (fleet.Key, error) {
	path, err := FleetKeyPath(n)
	if err != nil {
		return fleet.Key{}, err
	}
	next, before := path+".next", path+".old"
	if _, err := os.Stat(next); use && err != nil {
		return fleet.Key{}, exit.Usage("there is no next key: "+err.Error(), "make one with toolhost fleet key --next, and have the peers add it first")
	}
	key, err := fleet.KeyFile(next)
	if err == nil && use {
		if err = os.Remove(before); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.Link(path, before) // at no moment is there no key: a start would make another one
		}
		if err == nil {
			err = os.Rename(next, path)
		}
	}
	if err != nil {
		return fleet.Key{}, exit.Usage("the host's next key cannot be used: "+err.Error(), "mend "+next+", or remove it")
	}
	return key, nil
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
