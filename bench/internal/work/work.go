// Package work is the tools that every child of the benchmark serves, so that
// children differ only in how a call gets to them and back.
package work

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Permission is what a caller of the hosted tools must hold.
const Permission = "bench:call"

// Args is what every tool takes.
type Args struct {
	Text string `json:"text,omitempty" jsonschema:"what echo gives back"`
	// Bytes are at most 64 MiB, which is what hosts let through.
	Bytes int `json:"bytes,omitempty" jsonschema:"how much text blob gives"`
}

// Schema describes Args to hosts that are not told by a Go type.
const Schema = `{"type":"object","additionalProperties":false,"properties":{
	"text":{"type":"string","description":"what echo gives back"},
	"bytes":{"type":"integer","description":"how much text blob gives"}}}`

// Names of the tools. Once is echo that promises nothing, so that no host
// repeats it.
const (
	Echo = "echo"
	Blob = "blob"
	Once = "once"
)

// Tools are the names of all.
var Tools = []string{Echo, Blob, Once}

// Describe says what a tool does.
func Describe(name string) string {
	switch {
	case name == Blob:
		return "Gives so many bytes of text."
	case strings.HasPrefix(name, "many_"):
		return "The tool " + name + " is described in a sentence or two, as tools are, so that models know when to use it."
	}
	return "Gives its text back."
}

// Numbered is the name of one of many tools, which are not called.
func Numbered(i int) string { return fmt.Sprintf("many_%05d", i) }

// Run is the tool itself.
func Run(name string, a Args) (string, error) {
	switch name {
	case Echo, Once:
		return a.Text, nil
	case Blob:
		if a.Bytes < 0 || a.Bytes > Large {
			return "", fmt.Errorf("blob gives 0 to %d bytes, not %d", Large, a.Bytes)
		}
		return text()[:a.Bytes], nil
	}
	return "", fmt.Errorf("there is no tool %q", name)
}

// Handle is Run for children that get JSON.
func Handle(name string, arguments []byte) (string, error) {
	var a Args
	if err := json.Unmarshal(arguments, &a); err != nil {
		return "", err
	}
	return Run(name, a)
}

// Sizes of a blob, in bytes.
const (
	Medium = 64 << 10
	Large  = 8 << 20
)

// text is made once, so that what is measured is its way and not its making. It
// looks like what tools return: lines, with quotes for JSON to escape.
var text = sync.OnceValue(func() string {
	var b strings.Builder
	for line := 1; b.Len() < Large; line++ {
		fmt.Fprintf(&b, "%06d main.go:%d:\treturn fmt.Errorf(\"reading %%s: %%w\", path, err)\n", line, line%977)
	}
	return b.String()[:Large]
})

// Job is one call, over and over.
type Job struct {
	Tool      string
	Arguments []byte
	want      string // the whole answer, or nothing
	length    int
}

const said = "Read the file before you edit it, and run the tests."

// Small is the call that most figures are about: 80 bytes of arguments.
func Small() Job { return small(Echo) }

// Unrepeated is Small, of the tool that no host repeats.
func Unrepeated() Job { return small(Once) }

// Named is Small, of a tool of that name.
func Named(tool string) Job { return small(tool) }

func small(tool string) Job {
	return Job{
		Tool: tool, Arguments: []byte(`{"bytes": 12345, "text": "` + said + `"}`),
		want: said, length: len(said),
	}
}

// Sized is a call with a result of n bytes.
func Sized(n int) Job {
	return Job{Tool: Blob, Arguments: []byte(`{"bytes": ` + strconv.Itoa(n) + `}`), length: n}
}

// Check says what is wrong with an answer. A blob's content is not compared:
// reading 8 MiB again would be part of what is measured.
func (j Job) Check(answer string) error {
	if len(answer) != j.length || j.want != "" && answer != j.want {
		return fmt.Errorf("tool %s answered with %d bytes that are not what was asked for (%d)", j.Tool, len(answer), j.length)
	}
	return nil
}
