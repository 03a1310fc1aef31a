//go:build !linux

package schema

import (
	"testing"
	"time"
)

var began = time.Now()

// busy is the time that has passed.
func busy(*testing.T) time.Duration { return time.Since(began) }
