package main

import (
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const usage = `Usage: agent -model NAME [flags] [PROMPT]

The prompt is read from standard input where none is given, the key from OPENAI_API_KEY.
`

// settings are what the command line says.
type settings struct {
	model, baseURL, root, plugins, prompt string
	grants                                []tool.Capability
	maxIterations                         uint
	yes                                   bool
}

// parse reads the command line and, where that has no prompt, standard input. What
// is wrong it has told on stderr when it returns.
func parse(args []string, stdin io.Reader, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.model, "model", "", "the model's `name`; required")
	flags.StringVar(&s.baseURL, "base-url", "", "the endpoint's `URL`, up to /v1 (default: OPENAI_BASE_URL, or else OpenAI's own)")
	flags.StringVar(&s.root, "root", ".", "the workspace, a `directory`")
	flags.StringVar(&s.plugins, "plugin-dir", "", "the `directory` of the plugins (default: none)")
	flags.Func("grant", "a `capability` that the model has, such as fs:read; may be repeated (default: none)", func(text string) error {
		c := tool.Capability(text)
		if !c.Valid() {
			return errors.New("use word:word, such as fs:read")
		}
		s.grants = append(s.grants, c)
		return nil
	})
	flags.UintVar(&s.maxIterations, "max-iterations", 10, "how often to ask the model at most; 0: no limit")
	flags.BoolVar(&s.yes, "yes", false, "run dangerous tools without asking at the terminal")
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.prompt = strings.Join(flags.Args(), " "); s.prompt == "" && s.model != "" {
		text, err := io.ReadAll(stdin)
		if err != nil {
			note(stderr, "reading the prompt: "+err.Error())
			return s, err
		}
		s.prompt = strings.TrimSpace(string(text))
	}
	if s.model == "" || s.prompt == "" {
		err := errors.New("a model (-model NAME) and a prompt are needed")
		note(stderr, err.Error())
		flags.Usage()
		return s, err
	}
	return s, nil
}
