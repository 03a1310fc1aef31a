package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestProblemOfSomebodyElse(t *testing.T) {
	t.Parallel()
	c, err := Parse("toolhost.yaml", []byte("plugins:\n  db:\n    environment:\n      KEY: hunter2\ntools:\n  a.b: {}\n"))
	require.NoError(t, err)
	for keys, want := range map[string]string{
		"plugins db environment KEY": "toolhost.yaml:4:7: plugins.db.environment.KEY: wrong (mend it)",
		"plugins db limits running":  "toolhost.yaml:2:3: plugins.db.limits.running: wrong (mend it)",
		"tools a.b rate":             `toolhost.yaml:6:3: tools."a.b".rate: wrong (mend it)`,
		"callers cli":                "toolhost.yaml:1:1: callers.cli: wrong (mend it)",
	} {
		p := c.Problem("wrong", "mend it", strings.Fields(keys)...)
		assert.Equalf(t, p.String(), want, "%s", keys)
		if strings.Contains(p.Snippet, "hunter2") || p.Snippet == "" {
			t.Errorf("%s: the snippet is %q", keys, p.Snippet)
		}
	}
	if !c.Has("plugins", "db", "environment", "KEY") || !c.Has("tools", "a.b") || c.Has("plugins", "KEY") || c.Has("root") {
		t.Error("what the file has is not what it says")
	}
	if p := Default().Problem("wrong", "", "root"); p.Line != 1 || p.Column != 1 {
		t.Errorf("with no file the place is %+v", p)
	}
}

func TestProblemsOfSomebodyElse(t *testing.T) {
	t.Parallel()
	c := require.Must(Parse("toolhost.yaml", []byte("log_level: info\nroot: .\n")))(t)
	if err := c.Problems(nil); err != nil {
		t.Errorf("of none there is %v", err)
	}
	all := []Problem{c.Problem("second", "", "root"), c.Problem("first", "", "log_level")}
	for i := range maxProblems {
		all = append(all, c.Problem(fmt.Sprintf("further %d", i), "", "root"))
	}
	var bad *Error
	if err := c.Problems(all); !errors.As(err, &bad) || len(bad.Problems) != maxProblems || bad.Omitted != 2 || bad.Problems[0].Message != "first" || bad.File != "toolhost.yaml" {
		t.Errorf("the error is %v", err)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		c := require.Must(Parse("toolhost.yaml", []byte(text)))(t)
		return c.Digest()
	}
	one, same, other := digest("root: a"), digest("root: a"), digest("root:  a")
	if len(digest("")) != 64 || one != same || one == other {
		t.Errorf("the digests are %q, %s, %s, %s", digest(""), one, same, other)
	}
	assert.Equalf(t, Default().Digest(), "", "with no file it")
}
