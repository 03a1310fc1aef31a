//go:build !linux

package schema

import (
	"testing"
	"time"
)

var began = time.Now()

// busy returns the elapsed time.
func busy(*testing.T) time.Duration { return time.Since(began) }
