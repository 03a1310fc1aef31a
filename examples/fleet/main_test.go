package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestProgramCallsToolOfAnotherHost(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/fleet.key"
	key, err := fleet.KeyFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(embedded.Config{Keys: []string{key.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	h, err := host.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	if err := h.Register(tool.Tool{
		Definition: tool.Definition{Name: "where", Description: "Says where it runs.", Safety: tool.Safe},
		Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("far away"), nil },
	}); err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Join(t.Context(), h, fleet.Config{URL: server.URL(), Key: key, Name: "far", Share: []string{"where"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	var out strings.Builder
	if err := run(t.Context(), []string{"-url", server.URL(), "-key", file, "where", "{}"}, &out); err != nil || out.String() != "far away\n" {
		t.Errorf("%q %v", out.String(), err)
	}
}

// The hosts of the Compose file are run as toolhost serve, have names of their own, and use its server.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image   string   `yaml:"image"`
			Command []string `yaml:"command"`
			Volumes []string `yaml:"volumes"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		s := file.Services[name]
		line := strings.Join(s.Command, " ")
		if s.Image == "" || len(s.Volumes) != 3 || !strings.HasPrefix(line, "toolhost ") ||
			!strings.HasSuffix(line, " serve --nats nats://nats:4222 --name "+name) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if file.Services["nats"].Image == "" {
		t.Error("there is no NATS server")
	}
}
