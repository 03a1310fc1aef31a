package manifest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// record is the content of a file.
type record struct {
	Name        string      `json:"name"` // the file's own, so that one in another's place is not believed
	Path        string      `json:"path"` // of the binary
	SHA256      Digest      `json:"sha256"`
	File        identity    `json:"file,omitzero"` // of the binary when it was hashed; zero: hash it again
	Description description `json:"description,omitzero"`
	Files       []namedFile `json:"files,omitempty"`   // that the description names
	Failure     *Failure    `json:"failure,omitempty"` // in place of a description
}

// description is a plugin's description. What is JSON in it is text here, as JSON values would lose
// their white space: a host compares them byte by byte with what the plugin says.
type description struct {
	wire.Description
	ConfigSchema string       `json:"config_schema,omitempty"`
	Tools        []definition `json:"tools"`
}

type definition struct {
	tool.Definition
	InputSchema  string `json:"input_schema,omitempty"`
	OutputSchema string `json:"output_schema,omitempty"`
	Icons        string `json:"icons,omitempty"`
	Meta         string `json:"meta,omitempty"`
}

func pack(about wire.Description) description {
	out := description{Description: about, ConfigSchema: string(about.ConfigSchema)}
	out.Description.ConfigSchema, out.Description.Tools = nil, nil
	for _, d := range about.Tools {
		t := definition{d, string(d.InputSchema), string(d.OutputSchema), string(d.Icons), string(d.Meta)}
		t.Definition.InputSchema, t.Definition.OutputSchema, t.Definition.Icons, t.Definition.Meta = nil, nil, nil, nil
		out.Tools = append(out.Tools, t)
	}
	return out
}

func (d description) unpack() wire.Description {
	out := d.Description
	out.ConfigSchema = jsonOf(d.ConfigSchema)
	for _, t := range d.Tools {
		t.Definition.InputSchema, t.Definition.OutputSchema = jsonOf(t.InputSchema), jsonOf(t.OutputSchema)
		t.Definition.Icons, t.Definition.Meta = jsonOf(t.Icons), jsonOf(t.Meta)
		out.Tools = append(out.Tools, t.Definition)
	}
	return out
}

func jsonOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

var errDamaged = marked.ErrDamaged

// temporary begins the names of files that are being written.
const temporary = marked.Temporary

// used is how often a file's time is set to show that it is still used.
const used = 24 * time.Hour

// read returns the content of a file, if all is in order with it.
func (d directory) read(name string) (*record, error) {
	root := d.Root()
	content, err := marked.ReadPrivate(root, name, MaxSize)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(content, &r); err != nil || r.Name != name {
		return nil, errDamaged
	}
	if info, err := root.Lstat(name); err == nil {
		if now := time.Now(); now.Sub(info.ModTime()) > used {
			_ = root.Chtimes(name, now, now) // for prune; if it cannot be set, the file is read all the same
		}
	}
	return &r, nil
}

// write puts a file in the place of the one that may be there, in one step. What would be
// read differently is not written.
func (d directory) write(name string, r *record) error {
	r.Name = name
	var content bytes.Buffer
	e := json.NewEncoder(&content)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err
	}
	if content.Len() > MaxSize {
		return fmt.Errorf("the description has %d bytes, more than %d", content.Len(), MaxSize)
	}
	var again record
	if err := json.Unmarshal(content.Bytes(), &again); err != nil || !reflect.DeepEqual(again, *r) {
		return fmt.Errorf("the description does not fit into JSON: %w", errors.Join(err, errDamaged))
	}
	err := replace(d.Root(), name, content.Bytes())
	if d.Reopen(err) {
		err = replace(d.Root(), name, content.Bytes())
	}
	return err
}

func replace(root *os.Root, name string, content []byte) (err error) {
	temp := temporary + rand.Text()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	// Not synced: what a power cut tears is not JSON, and is written again.
	if err := f.Close(); err != nil {
		return err
	}
	return root.Rename(temp, name)
}
