package verify

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
)

// minSecret is how long a value has to be, in bytes, so that it is not elsewhere by chance.
const minSecret = 8

// marked returns arguments that were made, with the mark in those that are sensitive and may have it.
func (s *subject) marked(ctx context.Context, d declared, input *schema.Schema, args json.RawMessage) json.RawMessage {
	for _, name := range d.GetSensitive() {
		members, err := jsontree.ParseObject(args)
		if err != nil || members.Text(name) == "" {
			continue
		}
		members.Set(name, json.RawMessage(`"`+s.mark+`"`))
		if with := jsontree.Encode(members); input.Check(ctx, with) == nil {
			args = with
		}
	}
	return args
}

// checkSecrets looks for the values of sensitive arguments in all that the plugin has said, and in what it leaves.
func checkSecrets(ctx context.Context, s *subject) finding {
	s.askToEnd(ctx) // so that it has written what it keeps back
	said := map[string]string{}
	for _, p := range s.running {
		p.stderr.mu.Lock()
		said["its log"] += string(p.stderr.first) + string(p.stderr.end)
		p.stderr.mu.Unlock()
	}
	for _, dir := range []string{s.temp, s.temp + endTemp} { // in the workspace tools may keep what they are given
		for path := range treeOf(dir).entries {
			at := filepath.Join(dir, path)
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Size() < maxHashed {
				text, _ := os.ReadFile(at) //nolint:gosec // of the plugin
				said["the file "+path] = string(text)
			}
		}
	}
	var f faults
	none := skip("no tool that was called has a sensitive argument that is a text")
	for _, c := range s.calls {
		said["its error"] = c.out.GetError().String()
		if c.out.GetResult().GetIsError() {
			said["its error"] = c.out.GetResult().String()
		}
		args, err := jsontree.ParseObject(c.args)
		for _, name := range c.GetSensitive() {
			if err != nil || len(args.Text(name)) < minSecret {
				continue
			}
			none = passed
			for where, text := range said {
				if strings.Contains(text, args.Text(name)) {
					f.add("%s: the value of %s is in %s", c.shown(), sanitize.Quote(name, 60), where)
				}
			}
		}
	}
	if len(f) == 0 {
		return none
	}
	return f.finding(Fail)
}
