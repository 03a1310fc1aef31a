package config

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// form is how a scalar is written in the file, and what the host takes for it: times are
// nanoseconds there, and sizes are bytes.
type form struct {
	// read converts a text; false: it does not have this form.
	read func(text string) (int64, bool)
	// write is the inverse of read.
	write func(v int64) string
}

var forms = map[string]form{
	"go-duration": {
		read: func(text string) (int64, bool) {
			d, err := time.ParseDuration(text)
			return int64(d), err == nil
		},
		write: func(v int64) string { return duration(v).String() },
	},
	"byte-size": {readSize, writeSize},
}

// duration is a [time.Duration] that is written without zeros at its end: 10m, not 10m0s.
type duration time.Duration

func (d duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

var sizeForm = regexp.MustCompile(`^([0-9]{1,18}) ?(B|KiB|MiB|GiB)$`)

func readSize(text string) (int64, bool) {
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	for _, u := range sizeUnits {
		if u.name == m[2] && err == nil && n <= math.MaxInt64/u.bytes {
			return n * u.bytes, true
		}
	}
	return 0, false
}

func writeSize(v int64) string {
	for _, u := range sizeUnits {
		if v%u.bytes == 0 {
			return strconv.FormatInt(v/u.bytes, 10) + u.name
		}
	}
	return ""
}

// readRate reads CALLS/PERIOD. The period may leave out the number 1, as in 10/m.
func readRate(text string) (rate tool.RateLimit, ok bool) {
	calls, period, _ := strings.Cut(text, "/")
	if strings.Trim(period, "smh") == "" {
		period = "1" + period
	}
	n, err := strconv.Atoi(calls)
	d, bad := time.ParseDuration(period)
	return tool.RateLimit{Calls: n, Period: tool.Duration(d)}, err == nil && bad == nil && n > 0 && d > 0 && d <= 24*time.Hour
}

// shown returns a value of the host's as the file writes it, with the defaults of what is
// absent.
func (s *setting) shown(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if s.Format == "rate" && len(s.word(v)) == 0 {
			var rate tool.RateLimit
			check(json.Unmarshal(must(json.Marshal(v)), &rate))
			return fmt.Sprintf("%d/%v", rate.Calls, duration(rate.Period))
		}
		for _, m := range s.members {
			if _, there := v[m.name]; !there && m.Default != nil {
				v[m.name] = decoded(m.Default)
				continue
			}
		}
		for key, value := range v {
			if child := s.member(key); child != nil {
				v[key] = child.shown(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = s.each.shown(v[i])
		}
	}
	if word := s.word(v); word != "" {
		return word
	}
	if f, ok := forms[s.Format]; ok {
		if n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64); err == nil {
			return f.write(n)
		}
	}
	return v
}

// word returns the word for a value of the host's; empty: there is none.
func (s *setting) word(v any) string {
	for word, means := range s.Words {
		if string(must(json.Marshal(v))) == string(must(json.Marshal(means))) {
			return word
		}
	}
	return ""
}

// decoded returns JSON as maps, lists and scalars, with numbers as they are written.
func decoded(text []byte) (v any) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	check(d.Decode(&v))
	return v
}
