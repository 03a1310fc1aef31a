package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// keyPasswordVariable has the password of a secret key, for programs.
const keyPasswordVariable = "TOOLHOST_KEY_PASSWORD"

const aboutKeygen = `Make the pair of keys with which you sign packages: FILE, the secret key (default:
toolhost-plugin.key), and a file with .pub in place of .key, the public one. They are keys of
minisign, which reads and makes the same files.

The secret key is encrypted with a password, from the terminal, from --password-file or from
` + keyPasswordVariable + `. Keep it out of your repository, and keep a copy: whoever trusts it
cannot be told of another one by you. Publish the public key where your users can be sure that
it is yours.`

func newDevKeygenCommand(s *session.Session) *cobra.Command {
	var words passwords
	var open bool
	cmd := &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "Make the keys with which packages are signed",
		Long:  aboutKeygen,
		Example: `  toolhost dev keygen
  toolhost dev keygen ~/keys/acme.key`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := append(args, "toolhost-plugin.key")[0]
			word := ""
			if !open {
				var err error
				if word, err = words.choose(cmd.Context()); err != nil {
					return err
				}
			}
			return keygen(s, file, word)
		},
	}
	words.bind(cmd)
	cmd.Flags().BoolVar(&open, "no-password", false, "do not encrypt the secret key")
	cmd.MarkFlagsMutuallyExclusive("no-password", "password-file")
	return cmd
}

func keygen(s *session.Session, file, password string) error {
	key, err := pack.NewKey(file, password)
	if errors.Is(err, fs.ErrExist) {
		return exit.Usage("there is a key already: "+sanitize.Text(file)+" or "+sanitize.Text(key.PublicFile()), "name another file; a key that is lost is lost")
	}
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	if dir := workTree(file); dir != "" {
		s.Notef("the secret key lies in the git work tree %s: keep it elsewhere, or git will offer to commit it", sanitize.Text(dir))
	}
	return s.Answer(struct {
		pack.Key
		PublicFile string `json:"public_file"`
	}{key, key.PublicFile()}, "%s is the secret key, and %s the public one:\n\n  %s\n\nOperators trust it with these lines of toolhost.yaml:\n\n"+
		"  trust:\n    publishers:\n      YOUR-NAME:\n        keys: [%[3]s]\n        plugins: [YOUR-PLUGIN]\n",
		sanitize.Text(key.File), sanitize.Text(key.PublicFile()), key.Public)
}

// workTree returns the git work tree that a file lies in; empty: none.
func workTree(file string) string {
	dir, err := paths.Canonical(filepath.Dir(file))
	for err == nil && !paths.Exists(filepath.Join(dir, ".git")) {
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// passwords are where the password of a key comes from.
type passwords struct{ file string }

func (p *passwords) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "password-file", "", "read the key's password from the first line of `FILE`")
	_ = cmd.MarkFlagFilename("password-file")
}

// given returns the password that the command was given; false: it has to ask.
func (p *passwords) given() (word string, ok bool, err error) {
	if p.file == "" {
		word, ok = os.LookupEnv(keyPasswordVariable)
		return word, ok, nil
	}
	text, err := os.ReadFile(p.file)
	if err != nil {
		return "", false, exit.With(exit.BadUsage, err)
	}
	word, _, _ = strings.Cut(string(text), "\n")
	return strings.TrimSuffix(word, "\r"), true, nil
}

// ask returns the password of a key that exists.
func (p *passwords) ask(ctx context.Context, file string) (string, error) {
	word, ok, err := p.given()
	if ok || err != nil {
		return word, err
	}
	return askPassword(ctx, "Password of "+sanitize.Line(file, 200)+": ")
}

// choose returns the password of a new key, asked for twice.
func (p *passwords) choose(ctx context.Context) (string, error) {
	word, ok, err := p.given()
	if err == nil && !ok {
		word, err = askPassword(ctx, "New password of the key: ")
		if err == nil {
			var again string
			if again, err = askPassword(ctx, "The same again: "); err == nil && again != word {
				return "", exit.Usage("the two passwords differ", "try again")
			}
		}
	}
	if err == nil && word == "" {
		return "", exit.Usage("the password is empty", "give one, or use --no-password")
	}
	return word, err
}

func askPassword(ctx context.Context, question string) (string, error) {
	word, err := terminal.Password(ctx, question)
	if err != nil && ctx.Err() == nil {
		return "", exit.Usage(fmt.Sprintf("there is no terminal to ask for the key's password at: %v", err),
			"use --password-file, or set "+keyPasswordVariable)
	}
	return word, err
}
