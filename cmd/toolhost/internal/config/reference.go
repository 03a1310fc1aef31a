package config

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
)

// References calls visit for each setting below a plugin's config that is {from_env: NAME} or
// {from_file: PATH}, with its path, and returns the configuration with what visit returns in their
// place. Paths of files are relative to that of the configuration.
func (c *Config) References(p Plugin, visit func(v Variable, keys []string) any) json.RawMessage {
	if p.Config == nil {
		return nil
	}
	dir := filepath.Dir(c.File)
	return must(json.Marshal(replaced(decoded(p.Config), nil, func(value any, keys []string) (any, bool) {
		v, ok := reference(value)
		if !ok {
			return nil, false
		}
		if v.FromFile != "" && !filepath.IsAbs(v.FromFile) {
			v.FromFile = filepath.Join(dir, v.FromFile)
		}
		return visit(v, keys), true
	})))
}

// reference returns the source of a value that is one; false: it is a value.
func reference(value any) (v Variable, ok bool) {
	of, _ := value.(map[string]any)
	if len(of) != 1 {
		return v, false
	}
	env, isEnv := of["from_env"].(string)
	file, isFile := of["from_file"].(string)
	return Variable{FromEnv: env, FromFile: file}, isEnv && env != "" || isFile && file != ""
}

// replaced returns a tree with the values replaced that with returns, and true, for.
func replaced(value any, keys []string, with func(any, []string) (any, bool)) any {
	if other, ok := with(value, keys); ok {
		return other
	}
	switch of := value.(type) {
	case map[string]any:
		for key, one := range of {
			of[key] = replaced(one, append(slices.Clip(keys), key), with)
		}
	case []any:
		for i, one := range of {
			of[i] = replaced(one, append(slices.Clip(keys), strconv.Itoa(i)), with)
		}
	}
	return value
}

// hideConfig hides the texts and numbers of the config of a plugin's settings, as they are shown:
// which of them are sensitive is known to the plugin alone.
func hideConfig(plugin any) {
	of, _ := plugin.(map[string]any)
	if of["config"] == nil {
		return
	}
	of["config"] = replaced(of["config"], nil, func(value any, _ []string) (any, bool) {
		if _, ok := reference(value); ok {
			return value, true
		}
		switch value.(type) {
		case string, json.Number:
			return hiddenValue, true
		}
		return nil, false
	})
}
