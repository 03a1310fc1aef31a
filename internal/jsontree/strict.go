package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Strict decodes one JSON value, and refuses members that the type does not have.
func Strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}
