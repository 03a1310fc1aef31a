package main

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// Whatever is wrong with a plugin's secret setting, every command names the setting, the keyword that it
// breaks and the file, blames the operator and not the plugin, and shows no value.
func TestWrongSetting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, keyword string }{
		"absent":    {"{}", "token is missing (required)"},
		"empty":     {`{token: ""}`, "minLength"},
		"too short": {"{token: s3cret}", "minLength"},
		"type":      {"{token: {s3cret: 1}}", "type"},
		"unset":     {"{token: {from_env: NOT_THERE}}", "from_env"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "forecast")
			w.configure("plugin_dirs: ["+w.plugins+"]", "plugins:", "  forecast:", "    config: "+c.config)
			commands := [][]string{
				{"call", "forecast.length"}, {"call", "forecast.length", "--plugin", w.plugins + "/forecast"}, {"config", "check", "--start"},
			}
			if name != "unset" { // else no daemon starts
				w.serve()
				commands = append(commands, []string{"status"}, []string{"doctor"})
			}
			for _, args := range commands {
				o := w.bare(args...)
				text := o.stdout + o.stderr
				for _, part := range []string{"plugins.forecast.config.token", c.keyword, "toolhost.yaml"} {
					if o.status == 0 || !strings.Contains(text, part) {
						t.Errorf("%q exits with %d and does not say %q:\n%s", args, o.status, part, text)
					}
				}
				for _, part := range []string{"mend the plugin", "s3cret"} {
					assert.NotContainsf(t, text, part, "%q says %q", args, part)
				}
				if name == "absent" && strings.Contains(text, "its value") {
					t.Errorf("%q speaks of a value:\n%s", args, text)
				}
			}
		})
	}
}

// A secret setting comes from the environment or from a file, which tools cannot change, and is shown
// nowhere.
func TestSecretSetting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "forecast")
	w.env = append(w.env, "FORECAST_TOKEN=from-the-environment")
	w.write("token", "from-a-file\n")
	for config, length := range map[string]string{
		"{token: {from_env: FORECAST_TOKEN}}": "it has 20", "{token: {from_file: token}}": "it has 11", "{token: from-the-config}": "it has 15",
	} {
		w.configure("plugin_dirs: ["+w.plugins+"]", "plugins:", "  forecast:", "    config: "+config)
		w.bare("call", "forecast.length", "--log-level", "debug").exits(0).prints(length)
		shown := w.bare("config").exits(0).stdout + w.bare("audit").exits(0).stdout
		assert.NotContainsf(t, shown, "from-", "it is shown")
		if !strings.Contains(config, "from_") && !strings.Contains(shown, `"token": "(hidden)"`) {
			t.Errorf("it is not there:\n%s", shown)
		}
	}
	w.replace("toolhost.yaml", "plugins: {forecast: {config: {token: {from_env: HOME}}}}\n")
	w.bare("trust").exits(5).says("gives plugin forecast your variable HOME, as config.token")
}

// What an author needs of an error: a panic has its stack in the plugin's log, and how long to wait is said.
func TestWhatAnErrorTells(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "forecast")
	w.configure("plugin_dirs: ["+w.plugins+"]", "plugins: {forecast: {config: {token: from-the-config}}}")
	w.bare("call", "forecast.panics", "--log-level", "debug").exits(1).says("boom", "testdata/forecast/main.go:")
	w.bare("call", "forecast.later").says("not yet", "try again in 1m30s")
	w.bare("call", "forecast.later", "--json").prints(`"retry_after": "1m30s"`)
	w.serve()
	w.bare("call", "forecast.later", "--json").prints(`"retry_after": "1m30s"`)
}
