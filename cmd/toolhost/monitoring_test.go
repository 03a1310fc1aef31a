package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

const monitoring = "../../packaging/monitoring/"

// The alert rules are valid, fire when they should and only then, by promtool of Prometheus.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("it needs promtool, which is in Debian's package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = monitoring
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

// Alerts and dashboard use no metric, and no label of one, that a daemon does not serve.
func TestMonitoringIsServed(t *testing.T) {
	t.Parallel()
	page := string(require.Must(os.ReadFile("../../docs/reference/metrics.md"))(t)) // which a test compares with what is served
	served := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(toolhost_\\w+)` \\| \\w+ \\| (.*?) \\|").FindAllStringSubmatch(page, -1) {
		served[row[1]] = row[2] + " `le` `job` `instance`"
	}
	if len(served) < 40 {
		t.Fatalf("%d metrics", len(served))
	}
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		text := strings.ReplaceAll(string(require.Must(os.ReadFile(monitoring+file))(t)), `\"`, `"`)
		uses := regexp.MustCompile(`(toolhost_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(text, -1)
		if len(uses) < 10 {
			t.Errorf("%s uses %d metrics", file, len(uses))
		}
		for _, use := range uses {
			labels, ok := served[use[1]]
			if !ok {
				labels, ok = served[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(use[1], "")]
			}
			if !ok {
				t.Errorf("%s: %s is not served", file, use[1])
			}
			for _, label := range regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`).FindAllStringSubmatch(use[2], -1) {
				assert.Containsf(t, labels, "`"+label[1]+"`", "%s: %s has no label %s", file, use[1], label[1])
			}
		}
	}
}
