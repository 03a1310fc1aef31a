package tools

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// platforms is a module with files for one platform, or with a tag.
var platforms = map[string]string{
	"go.mod":             "module example.com/platforms\n\ngo 1.26\n",
	"all.go":             "package platforms\n\n// Reopen is called from several platforms.\nfunc Reopen() {}\n\nfunc here() { Reopen() }\n",
	"service_plan9.go":   "package platforms\n\nfunc Service() { Reopen() }\n",
	"service_tagged.go":  "//go:build extra\n\npackage platforms\n\nfunc Extra() { Reopen(); Reopen() }\n",
	"size_arm.go":        "package platforms\n\nvar Pointer *int\n",
	"only/only_plan9.go": "package only\n\nfunc Only() {}\n",
}

// What build constraints leave out is told, and can be included.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	b := fresh(t, platforms)
	calls := func(in build) callers {
		return decode[callers](t, b, "who_calls", callsIn{Function: "Reopen", within: within{build: in}})
	}
	here := calls(build{})
	if here.Total != 1 || here.LeftOut != "4 files are left out by build constraints, and Reopen is named in "+
		"service_plan9.go, service_tagged.go; goos or tags can include them" {
		t.Errorf("here: %+v", here)
	}
	if got := calls(build{GOOS: "plan9"}); got.Total != 2 || got.Calls[1].Position != "service_plan9.go:3:18" || !strings.Contains(got.LeftOut, "service_tagged.go") {
		t.Errorf("on Plan 9: %+v", got)
	}
	if got := calls(build{GOOS: "plan9/arm", Tags: []string{"extra"}}); got.Total != 4 || got.LeftOut != "" {
		t.Errorf("on Plan 9 with a tag: %+v", got)
	}
	arm := decode[description](t, b, "describe_symbol", describeIn{Symbol: "Pointer", build: build{GOOS: "plan9/arm"}})
	assert.Equalf(t, arm.Position, "size_arm.go:3:5", "Pointer is %+v", arm)
	if got := decode[description](t, b, "describe_symbol", describeIn{Symbol: "only.Only", build: build{GOOS: "plan9"}}); got.Position != "only/only_plan9.go:3:6" {
		t.Errorf("Only is %+v", got)
	}
	for _, c := range []struct {
		in   build
		want string
	}{
		{build{GOOS: "-x"}, `goos "-x" is not an operating system`}, {build{GOOS: "plan9 -x"}, "goos"}, {build{GOOS: "../x"}, "goos"},
		{build{GOOS: "nowhere"}, "the go command failed: "}, {build{Tags: []string{"a,b"}}, `"a,b" is not a build tag`},
		{build{Tags: []string{"-mod=mod"}}, `"-mod=mod" is not a build tag`},
	} {
		if got := b.failing(t, "describe_symbol", describeIn{Symbol: "Reopen", build: c.in}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s\nwant %s", c.in, got, c.want)
		}
	}
}
