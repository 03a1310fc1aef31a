package setting

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Form is how a text is written in the file and what the host takes for it, which is an int64 if
// the kind bounds it.
type Form struct {
	// Read converts a text; false: it does not have this form.
	Read func(text string) (any, bool)
	// Write is the inverse of Read. It takes the JSON of the value.
	Write func(json []byte) string
}

// The forms of paths and programs, which depend on where the file is.
const (
	FilePath = "file-path"
	Program  = "program" // a path, or a name in PATH
)

// Forms are the others, by their names in [Kind].
var Forms = map[string]Form{
	"go-duration": {readDuration, writeDuration},
	"byte-size":   {readSize, writeSize},
	"rate":        {readRate, writeRate},
}

func readDuration(text string) (any, bool) {
	d, err := time.ParseDuration(text)
	return int64(d), err == nil
}

func writeDuration(v []byte) string { return Duration(time.Duration(number64(v))) }

// Duration writes a duration without zeros at its end: 10m, not 10m0s.
func Duration(d time.Duration) string {
	text := d.String()
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

func readSize(text string) (any, bool) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(digits, " "), 10, 63)
		return int64(n) * u.bytes, err == nil && int64(n) <= math.MaxInt64/u.bytes
	}
	return nil, false
}

func writeSize(v []byte) string {
	n := number64(v)
	for _, u := range sizeUnits {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return ""
}

// readRate reads CALLS/PERIOD. The period may leave out the number 1, as in 10/m.
func readRate(text string) (any, bool) {
	calls, period, _ := strings.Cut(text, "/")
	if strings.Trim(period, "smh") == "" {
		period = "1" + period
	}
	n, err := strconv.Atoi(calls)
	d, bad := time.ParseDuration(period)
	ok := err == nil && bad == nil && n > 0 && d > 0 && d <= 24*time.Hour
	return tool.RateLimit{Calls: n, Period: tool.Duration(d)}, ok
}

func writeRate(v []byte) string {
	var rate tool.RateLimit
	_ = json.Unmarshal(v, &rate) // it is the JSON of one
	return strconv.Itoa(rate.Calls) + "/" + Duration(time.Duration(rate.Period))
}

func number64(v []byte) (n int64) {
	_ = json.Unmarshal(v, &n) // it is the JSON of one
	return n
}
