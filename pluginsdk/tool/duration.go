package tool

import (
	"encoding/json"
	"time"
)

// Duration is a [time.Duration] that is a string in JSON, such as "1m30s".
type Duration time.Duration

// MarshalJSON encodes the duration as [time.Duration.String] formats it.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON decodes a string that [time.ParseDuration] accepts.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err == nil {
		*d = Duration(v)
	}
	return err
}
