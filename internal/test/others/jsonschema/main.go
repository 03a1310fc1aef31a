// Jsonschema validates values as the package jsonschema/v6 does. It reads lines with a schema and a
// value, in JSON, and answers each with a line: fits, not, untold if the package does not take the
// schema or the value, or panic.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	for dec := json.NewDecoder(os.Stdin); ; {
		var q struct{ Schema, Value string }
		if err := dec.Decode(&q); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		_, _ = fmt.Fprintln(out, answer(q.Schema, q.Value))
		if err := out.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}

func answer(schema, value string) (verdict string) {
	defer func() {
		if recover() != nil {
			verdict = "panic"
		}
	}()
	const base = "s:///s" // as in internal/schema
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return "untold"
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		return "untold"
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(base, doc); err != nil {
		return "untold"
	}
	s, err := c.Compile(base)
	if err != nil {
		return "untold"
	}
	if s.Validate(v) != nil {
		return "not"
	}
	return "fits"
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }
