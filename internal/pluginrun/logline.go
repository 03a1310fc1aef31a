package pluginrun

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/lazy"
)

// What loggers write: level and message, in that order.
var (
	slogText  = lazy.Regexp(`^time=\S+ level=([A-Z]+)(?:[+-]\d+)? msg=(.*)$`)
	hclogText = lazy.Regexp(`^\d{4}-\d\d-\d\dT\S+ \[(TRACE|DEBUG|INFO|WARN|ERROR)\] +(.*)$`)
	stdText   = lazy.Regexp(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)? (?:(DEBUG|INFO|WARN|ERROR)(?:[+-]\d+)? )?(.*)$`)
)

// parseLog finds level and message of a line of output, in the formats of hclog and slog, as text
// and as JSON, and of package log. Attributes follow the message as k=v. The time is left out, as
// the host has its own. Any other line, wrong types included, is a message as it stands.
func parseLog(line string) (hclog.Level, string) {
	if strings.HasPrefix(line, "{") {
		if level, message, ok := parseJSONLog(line); ok {
			return level, message
		}
		return hclog.Info, line
	}
	if line == "" || line[0] != 't' && (line[0] < '0' || '9' < line[0]) {
		return hclog.Info, line // as most do
	}
	for _, format := range []func() *regexp.Regexp{slogText, hclogText, stdText} {
		if m := format().FindStringSubmatch(line); m != nil && m[2] != "" {
			return levelNamed(m[1]), unquoted(m[2])
		}
	}
	return hclog.Info, line
}

// unquoted returns a text without the quotes around what it begins with.
func unquoted(text string) string {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil || quoted[0] != '"' {
		return text
	}
	plain, err := strconv.Unquote(quoted)
	if err != nil || plain == "" {
		return text
	}
	return plain + text[len(quoted):]
}

// levelNamed returns the level of a name, such as info, WARNING or DEBUG+2; if there is none, info.
func levelNamed(name string) hclog.Level {
	if i := strings.IndexAny(name, "+-"); i > 0 {
		name = name[:i]
	}
	switch name = strings.ToLower(name); name {
	case "warning":
		return hclog.Warn
	case "fatal", "critical", "panic":
		return hclog.Error
	}
	if level := hclog.LevelFromString(name); level != hclog.NoLevel && level != hclog.Off {
		return level
	}
	return hclog.Info
}

// parseJSONLog reads a line of hclog's or slog's JSON format. It reports false if it has no message.
func parseJSONLog(line string) (level hclog.Level, message string, ok bool) {
	decode := json.NewDecoder(strings.NewReader(line))
	if _, err := decode.Token(); err != nil { // the brace
		return 0, "", false
	}
	var name string
	var attributes strings.Builder
	for decode.More() {
		key, err := decode.Token()
		if err != nil {
			return 0, "", false
		}
		var value json.RawMessage
		if err := decode.Decode(&value); err != nil {
			return 0, "", false
		}
		switch key {
		case "@message", "msg":
			if json.Unmarshal(value, &message) != nil {
				return 0, "", false
			}
		case "@level", "level":
			_ = json.Unmarshal(value, &name) // or else none
		case "@timestamp", "time", "@module", "@caller":
		default:
			fmt.Fprintf(&attributes, " %s=%s", key, shortValue(value))
		}
	}
	if message == "" {
		return 0, "", false
	}
	return levelNamed(name), message + attributes.String(), true
}

// shortValue returns a string that has no spaces without its quotes, and all else as JSON.
func shortValue(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil && s != "" && !strings.ContainsAny(s, " \t\r\n\"=") {
		return s
	}
	return string(value)
}
