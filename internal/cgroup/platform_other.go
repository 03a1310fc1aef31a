//go:build !linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Tree is where groups can be made; here, nowhere.
type Tree struct{}

// Group is a group of processes.
type Group struct{}

// Find finds nothing here.
func Find() *Tree { return &Tree{} }

// By returns [errors.ErrUnsupported].
func (t *Tree) By(limit Limit) (string, error) {
	return "", fmt.Errorf("%s is bounded on Linux alone: %w", limit, errors.ErrUnsupported)
}

// Create makes a group that bounds nothing.
//
// # Errors
//
// A limit is out of its bounds.
func (t *Tree) Create(_ string, limits Limits) (*Group, error) {
	_, err := limits.List()
	return &Group{}, err
}

// Sweep finds nothing here.
func (t *Tree) Sweep(context.Context) {}

// Enforces is empty here.
func (g *Group) Enforces() []Limit { return nil }

// Exceeded is empty here.
func (g *Group) Exceeded() Exceeded { return Exceeded{} }

// Usage is empty here.
func (g *Group) Usage() Usage { return Usage{} }

// CPU is 0 here.
func (g *Group) CPU() time.Duration { return 0 }

// Processes is empty here.
func (g *Group) Processes(int) []int { return nil }

// Kill does nothing here.
func (g *Group) Kill() error { return nil }

// Close does nothing here.
func (g *Group) Close() error { return nil }
