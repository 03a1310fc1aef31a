package control_test

import (
	"runtime/debug"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestRevision(t *testing.T) {
	t.Parallel()
	for want, info := range map[string]debug.BuildInfo{
		"":       {Main: debug.Module{Version: "(devel)"}},
		"v0.1.0": {Main: debug.Module{Version: "v0.1.0"}}, // go install
		"abc": {Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"},
		}},
		"abc+": {Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}},
	} {
		assert.Equal(t, control.RevisionOf(&info), want)
	}
}
