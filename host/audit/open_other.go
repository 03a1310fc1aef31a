//go:build !unix && !windows

package audit

import "os"

// fullErrors: what a full disk is called cannot be known here.
var fullErrors []error

func openFile(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, 0o600) }

func isLink(error) bool { return false }

func syncDir(string) error { return nil }
