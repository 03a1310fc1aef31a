package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxArguments bounds the text of arguments, in bytes.
const maxArguments = 16 << 20

// readArguments reads the text of the arguments from where the command line says, without a
// byte order mark. It does not check the text otherwise: the host does.
func readArguments(ctx context.Context, stdin io.Reader, source []string) ([]byte, error) {
	text, err := readSource(ctx, stdin, source)
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, exit.Usage("the arguments are UTF-16", "save them as UTF-8")
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// pairWord is an argument as --arg has it.
var pairWord = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_.-]*=`)

func readSource(ctx context.Context, stdin io.Reader, source []string) ([]byte, error) {
	if len(source) == 0 {
		return nil, nil
	}
	switch word := source[0]; {
	case word == "-":
		return terminal.Await(ctx, func() ([]byte, error) { return readBounded("standard input", stdin) })
	case strings.HasPrefix(word, "@"):
		f, err := os.Open(word[1:])
		if err != nil {
			return nil, exit.Usage(fmt.Sprintf("the arguments cannot be read: %v", err),
				"@FILE names a file, relative to the current directory")
		}
		defer func() { _ = f.Close() }()
		return terminal.Await(ctx, func() ([]byte, error) { return readBounded(word[1:], f) })
	case pairWord().MatchString(word):
		return nil, exit.With(exit.Arguments, tool.Errorf(tool.CodeInvalidArguments, "the arguments are not JSON: %s",
			output.Shorten(sanitize.Line(word, 0), 80)).Try("write --arg "+output.Shorten(sanitize.Line(word, 0), 80)))
	default:
		return []byte(word), nil
	}
}

func readBounded(name string, r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxArguments+1))
	switch {
	case err != nil:
		return nil, exit.Usage(fmt.Sprintf("the arguments cannot be read from %s: %v", name, err), "")
	case len(text) > maxArguments:
		return nil, tool.Errorf(tool.CodeResourceExhausted, "the arguments in %s are longer than %d MiB", name, maxArguments>>20)
	}
	return text, nil
}
