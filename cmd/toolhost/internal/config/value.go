package config

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a time such as 10m or 1m30s. Where 0 is allowed it stands for never.
type Duration time.Duration

// never is how the file writes a duration without an end.
const never = "never"

// String is the duration as the file has it.
func (d Duration) String() string {
	if d == 0 {
		return never
	}
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalJSON writes the duration as a string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// Size is a number of bytes. Where 0 is allowed it stands for unlimited.
type Size int64

// unlimited is how the file writes a limit that does not limit.
const unlimited = "unlimited"

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String is the size as the file has it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s > 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return unlimited
}

// MarshalJSON writes the size as a string.
func (s Size) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

var sizeForm = regexp.MustCompile(`^([0-9]{1,18}) ?(B|KiB|MiB|GiB)$`)

// parseSize reads a whole number and a unit.
func parseSize(s string) (Size, bool) {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	for _, u := range sizeUnits {
		if u.name == m[2] && err == nil && n <= math.MaxInt64/u.bytes {
			return Size(n * u.bytes), true
		}
	}
	return 0, false
}

// durationForm is a bit less than what [time.ParseDuration] reads, so that the JSON
// Schema can say it.
var durationForm = regexp.MustCompile(`^([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h)){1,6}$`)

func parseDuration(s string) (Duration, bool) {
	if !durationForm.MatchString(s) {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return Duration(d), err == nil
}

// Rate allows so many calls in each period.
type Rate struct {
	Calls  int
	Period Duration
}

// String is the rate as the file has it.
func (r Rate) String() string {
	if r.Calls == 0 {
		return unlimited
	}
	return fmt.Sprintf("%d/%v", r.Calls, r.Period)
}

// MarshalJSON writes the rate as a string.
func (r Rate) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

// parseRate reads CALLS/PERIOD; a period may leave out the number, as in 10/m.
func parseRate(s string) (Rate, bool) {
	calls, period, ok := strings.Cut(s, "/")
	if !ok || len(calls) == 0 || len(calls) > 9 || strings.Trim(calls, "0123456789") != "" {
		return Rate{}, false
	}
	n, err := strconv.Atoi(calls)
	if err != nil {
		return Rate{}, false
	}
	if period == "s" || period == "m" || period == "h" {
		period = "1" + period
	}
	d, ok := parseDuration(period)
	return Rate{n, d}, ok && n > 0 && d > 0
}
