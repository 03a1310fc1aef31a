package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Surroundings are what the texts of a server refer to.
type Surroundings struct {
	// Lookup finds variables of the host's environment, as [os.LookupEnv] does.
	Lookup func(string) (string, bool)
	// Root is the workspace, absolute.
	Root string
}

// anyReference matches a reference to a variable, and one that is not closed. The bare $NAME
// is text, as for the programs whose files are read.
var anyReference = lazy.Regexp(`\$\{[^}]*\}?`)

// expand replaces the references of a text: ${NAME}, ${NAME:-default}, ${env:NAME},
// ${workspaceFolder}, ${workspaceFolderBasename}, ${userHome} and ${pathSeparator}. What they
// stand for is not expanded again.
//
// # Errors
//
// Every reference that stands for nothing, without the text around it.
func (in Surroundings) expand(text string) (string, error) {
	var errs []error
	out := anyReference().ReplaceAllStringFunc(text, func(ref string) string {
		value, err := in.value(ref)
		if err != nil {
			errs = append(errs, err)
		}
		return value
	})
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	if strings.ContainsRune(out, 0) {
		return "", errors.New("a NUL character cannot be passed on (remove it)")
	}
	return out, nil
}

func (in Surroundings) value(ref string) (string, error) {
	word, closed := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
	if !closed {
		return "", errors.New("a ${ has no } (write ${NAME})")
	}
	switch word {
	case "workspaceFolder":
		return in.Root, nil
	case "workspaceFolderBasename":
		return filepath.Base(in.Root), nil
	case "userHome":
		return home()
	case "pathSeparator", "/":
		return string(filepath.Separator), nil
	}
	if id, ok := strings.CutPrefix(word, "input:"); ok {
		return "", fmt.Errorf("${input:%s} is asked for by an editor, and toolhost does not ask "+
			"(write ${%s}, and set that variable)", shown(id), VariableFor(id))
	}
	name, fallback, hasDefault := strings.Cut(strings.TrimPrefix(word, "env:"), ":-")
	if !plainVariable().MatchString(name) {
		return "", fmt.Errorf("%s does not name a variable (write ${NAME})", shown(ref))
	}
	value, ok := in.Lookup(name)
	switch {
	case value == "" && hasDefault:
		return fallback, nil
	case !ok:
		return "", fmt.Errorf("the variable %s is not set "+
			"(set it in the environment of this process, or write ${%s:-default})", name, name)
	case len(value) > maxValue:
		return "", fmt.Errorf("the value of %s has more than %d bytes (shorten it)", name, maxValue)
	}
	return value, nil
}

var plainVariable = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// VariableFor returns a name of a variable that is made of words.
func VariableFor(words ...string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, strings.Join(words, "_"))
	if name = strings.Trim(name, "_"); name == "" || isDigit(name[0]) {
		name = "VALUE_" + name
	}
	return strings.TrimRight(name[:min(len(name), 64)], "_")
}

func home() (string, error) {
	dir, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(dir) {
		return "", errors.New("this process has no home directory (set HOME, or write the path in full)")
	}
	return dir, nil
}

// path expands a text to an absolute path. A relative one is relative to base.
func (in Surroundings) path(text, base string) (string, error) {
	path, err := in.expand(text)
	if err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		dir, err := home()
		if err != nil {
			return "", err
		}
		path = dir + rest
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if base == "" {
		base = in.Root
	}
	return filepath.Join(base, path), nil
}
