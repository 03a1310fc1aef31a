package audit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// parser reads what sums and places are made of from lines as the encoder writes them, in a twentieth of the time
// of encoding/json.
type parser struct {
	names  map[string]string // so that the names of millions of lines are few strings
	phases policy.Phases     // of the last line
}

// maxNames bounds the names that a parser remembers.
const maxNames = 10_000

// parse reads a line; false: it is not as the encoder writes it, or no record.
func (p *parser) parse(text []byte, e *Entry) bool {
	link, ok := parseLink(text)
	if !ok {
		return false
	}
	e.Seq = link.seq
	return eachField(text, func(key, value []byte) (ok bool) {
		switch string(key) {
		case "time":
			var s string
			if s, ok = plain(value); ok {
				var err error
				e.Time, err = time.Parse(time.RFC3339Nano, s)
				return err == nil
			}
			return false
		case "event":
			return p.name(&e.Event, value) && e.Event != ""
		case "action":
			return p.name(&e.Action, value)
		case "call":
			e.Call, ok = plain(value)
			return ok
		case "parent":
			e.Parent, ok = plain(value)
			return ok
		case "session":
			e.Session, ok = plain(value)
			return ok
		case "caller":
			return p.name(&e.Caller, value)
		case "account":
			return p.name(&e.Account, value)
		case "via":
			return p.name(&e.Via, value)
		case "client":
			return p.name(&e.Client, value)
		case "tool":
			return p.name(&e.Tool, value)
		case "plugin":
			return p.name(&e.Plugin, value)
		case "code":
			var code string
			ok = p.name(&code, value)
			e.Code = tool.Code(code)
			return ok
		case "duration":
			return duration(&e.Duration, value)
		case "refusals":
			return number(&e.Refusals, value)
		case "phases":
			p.phases = policy.Phases{}
			e.Phases = &p.phases
			return eachField(value, p.phase)
		}
		return true
	}) && e.Event != ""
}

// phase reads a member of phases.
func (p *parser) phase(key, value []byte) bool {
	switch string(key) {
	case "asked":
		return duration(&p.phases.Asked, value)
	case "retried":
		return duration(&p.phases.Retried, value)
	case "started":
		return duration(&p.phases.Started, value)
	case "queued":
		return duration(&p.phases.Queued, value)
	case "sent":
		return duration(&p.phases.Sent, value)
	case "ran":
		return duration(&p.phases.Ran, value)
	case "checked":
		return duration(&p.phases.Checked, value)
	case "bytes_in":
		return number(&p.phases.BytesIn, value)
	case "bytes_out":
		return number(&p.phases.BytesOut, value)
	case "estimated_tokens":
		return number(&p.phases.EstimatedTokens, value)
	}
	return true
}

// name reads a name that other lines have, too.
func (p *parser) name(to *string, value []byte) bool {
	if known, ok := p.names[string(value)]; ok {
		*to = known
		return true
	}
	s, ok := plain(value)
	if !ok {
		return false
	}
	if len(p.names) >= maxNames {
		clear(p.names)
	}
	p.names[string(value)] = s
	*to = s
	return true
}

// plain reads a string.
func plain(value []byte) (s string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') >= 0 {
		return s, json.Unmarshal(value, &s) == nil
	}
	return string(value[1 : len(value)-1]), true
}

func duration(to *tool.Duration, value []byte) bool {
	s, ok := plain(value)
	if !ok {
		return false
	}
	d, err := time.ParseDuration(s)
	*to = tool.Duration(d)
	return err == nil
}

func number(to *int, value []byte) bool {
	n, err := strconv.Atoi(string(value))
	*to = n
	return err == nil
}

// eachField calls do with the keys and values of an object without space between its tokens, until do returns false;
// it reports whether that was not so, and the object is whole.
func eachField(text []byte, do func(key, value []byte) bool) bool {
	if string(text) == "{}" {
		return true
	}
	for before := byte('{'); len(text) > 1 && text[0] == before && text[1] == '"'; before = ',' {
		key, rest, ok := bytes.Cut(text[2:], []byte(`":`))
		n := valueEnd(rest)
		if !ok || n <= 0 || !do(key, rest[:n]) {
			return false
		}
		text = rest[n:]
	}
	return string(text) == "}"
}

// valueEnd returns where the JSON value ends with which text begins; 0 or less: nowhere.
func valueEnd(text []byte) int {
	for i, depth := 0, 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			n := stringEnd(text[i:])
			if n == 0 {
				return 0
			}
			if i += n - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case ',':
			if depth == 0 {
				return i
			}
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// stringEnd returns where the string ends with which text begins; 0: nowhere.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return 0
		}
		i += n
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return 0
}
