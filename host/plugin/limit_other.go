//go:build !linux

package plugin

func limitProcesses(int) error { return nil }
