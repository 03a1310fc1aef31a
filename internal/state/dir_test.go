package state

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestUserDir(t *testing.T) {
	t.Parallel()
	absolute := t.TempDir()
	home := func() (string, error) { return "home", nil }
	none := func() (string, error) { return "", errors.New("no home") }
	for _, c := range []struct {
		goos, xdg string
		home      func() (string, error)
		want      string
	}{
		{"linux", "", home, filepath.Join("home", ".local", "state")},
		{"linux", absolute, none, absolute},
		{"linux", "relative", home, filepath.Join("home", ".local", "state")},
		{"linux", "", none, ""},
		{"darwin", "", home, filepath.Join("home", "Library", "Application Support")},
		{"darwin", absolute, home, absolute},
	} {
		env := map[string]string{"XDG_STATE_HOME": c.xdg}
		got, err := userDir(c.goos, func(name string) string { return env[name] }, c.home)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v gives %q, %v", c, got, err)
		}
	}
	if dir, err := Dir(); err == nil && filepath.Base(dir) != "toolhost" {
		t.Errorf("the default is %s", dir)
	}
}
