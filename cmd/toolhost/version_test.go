package main

import (
	"runtime"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/wire"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bare("version").exits(0).prints("toolhost "+host.Version, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	var b build
	w.bare("version", "--json").exits(0).json(&b)
	equal(t, "the version", b.Version, host.Version)
	equal(t, "the protocol", b.Protocol, wire.ProtocolVersion)
}
