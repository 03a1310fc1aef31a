package connect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolhost/toolhost/internal/lazy"
)

func parseJSON(text string) (out map[string]any, err error) {
	tree, err := treeOf(text)
	if err != nil {
		return nil, err
	}
	tree.Standardize()
	if json.Unmarshal(tree.Pack(), &out) != nil || out == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return out, nil
}

// treeOf parses a file without its mark of byte order. No error has a value of the file.
func treeOf(text string) (hujson.Value, error) {
	body := strings.TrimPrefix(text, bom)
	if strings.TrimSpace(body) == "" {
		body = "{}"
	}
	tree, err := hujson.Parse([]byte(body + "\n")) // it takes no comment that ends with the file
	if !utf8.ValidString(body) {
		return tree, errors.New("it is not UTF-8")
	}
	if err != nil {
		line := 1
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d", &line)
		return tree, fmt.Errorf("it is not JSON, from line %d on", line)
	}
	return tree, nil
}

var indentation = lazy.Regexp(`(?m)^[ \t]+(?:["/}])`)

// putJSON returns how a text gets an object at a path. Comments, order and what else is there stay. It is laid out as
// JavaScript does it, so that a client that writes the file back leaves it as it is.
func putJSON(text string, path []string, fields []field) (splice, error) {
	start := len(text) - len(strings.TrimPrefix(text, bom))
	body, end, unit := text[start:], lineEnd(text), "  "
	if found := indentation().FindString(text); found != "" {
		unit = found[:len(found)-1]
	}
	object := func(keys []string, depth int) string {
		inner := compact(fields)
		for i := len(keys) - 1; i >= 0; i-- {
			inner = "{" + value(keys[i]) + ": " + inner + "}"
		}
		var b bytes.Buffer
		_ = json.Indent(&b, []byte(inner), strings.Repeat(unit, depth), unit)
		return strings.ReplaceAll(b.String(), "\n", end)
	}
	if strings.TrimSpace(body) == "" {
		return splice{start, len(text), object(path, 0) + end}, nil
	}
	tree, err := treeOf(text)
	if err != nil {
		return splice{}, err
	}
	at := &tree
	for i, key := range path {
		parent, ok := at.Value.(*hujson.Object)
		if !ok {
			return splice{}, fmt.Errorf("its %s is not an object", strings.Join(path[:i], "."))
		}
		from, closing, comma, member := at.StartOffset+1, at.EndOffset-1, "", (*hujson.Value)(nil)
		for j := range parent.Members {
			m := &parent.Members[j]
			if name, ok := m.Name.Value.(hujson.Literal); ok && name.String() == key {
				member = &m.Value
			}
			if from, comma = m.Value.EndOffset, ","; m.Value.AfterExtra != nil { // the last has a comma
				comma = ""
			}
		}
		if at = member; member != nil {
			continue
		}
		// After the last member, and the comments after that.
		kept := strings.TrimRight(body[from:closing], " \t\r\n")
		s := splice{start + from, start + from + len(kept), comma + kept + end + strings.Repeat(unit, i+1)}
		s.text += value(key) + ": " + object(path[i+1:], i+1)
		if !strings.Contains(body[from+len(kept):closing], "\n") {
			s.end, s.text = start+closing, s.text+end+strings.Repeat(unit, i)
		}
		return s, nil
	}
	return splice{start + at.StartOffset, start + at.EndOffset, object(nil, len(path))}, nil
}

// dropJSON returns a text without what is at a path. A pointer escapes ~ and /, which no key here has.
func dropJSON(text string, path []string) string {
	tree, err := treeOf(text)
	if err != nil || tree.Patch([]byte(`[{"op": "remove", "path": `+value("/"+strings.Join(path, "/"))+`}]`)) != nil {
		return text
	}
	return text[:len(text)-len(strings.TrimPrefix(text, bom))] + strings.TrimSuffix(string(tree.Pack()), "\n")
}
