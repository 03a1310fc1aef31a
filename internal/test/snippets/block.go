// Package snippets reads the fenced blocks of the project's documents, which tests run. Begin
// with [Read].
//
// The info string of a block says what is done with it:
//
//	```sh                   commands, run in order within the page, in one shell
//	```sh fails             the last command fails
//	```sh as=1001           commands of the user with this number, which need root
//	```sh waits             the last command waits for a person, who answers in the next block: ID is the question's there
//	```text output          what the commands before printed, compared line by line; a line ... stands for any
//	```go file=main.go      the content of a file, which is written before the commands after it run
//	```yaml no-run: REASON  not run, for this reason
package snippets

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a fenced block.
type Block struct {
	Line     int    // of the first line of its text, from 1
	Language string // such as sh
	File     string // the file whose content it is; empty: none
	Fails    bool
	As       string // the number of the user who runs it; empty: the page's
	Waits    bool   // the next block has the answer that its last command waits for
	Output   bool   // it is what the commands before it printed
	NoRun    string // why it is not run; empty: it is
	Text     string
}

// indented finds a block that is indented rather than fenced, and so has no info string.
var indented = regexp.MustCompile(`^    \S`)

// Read returns the blocks of a document.
func Read(document string) ([]Block, error) {
	var blocks []Block
	var open *Block
	blank := true
	list := false
	for n, line := range strings.Split(document, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case open != nil && fence:
			if info != "" {
				return nil, fmt.Errorf("line %d: a block begins within that of line %d", n+1, open.Line)
			}
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.Text += line + "\n"
		case fence:
			b, err := newBlock(info)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			b.Line = n + 2
			open = b
		case blank && !list && indented.MatchString(line):
			return nil, fmt.Errorf("line %d: the block is indented: fence it", n+1)
		case line != "" && line[0] != ' ':
			list = strings.HasPrefix(line, "- ") || line[0] >= '0' && line[0] <= '9'
		}
		blank = line == ""
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block does not end", open.Line)
	}
	return blocks, nil
}

// newBlock returns a block with an info string.
func newBlock(info string) (*Block, error) {
	info, reason, noRun := strings.Cut(info, " no-run:")
	b := &Block{NoRun: strings.TrimSpace(reason)}
	if noRun && b.NoRun == "" {
		return nil, fmt.Errorf("no-run needs a reason")
	}
	for i, word := range strings.Fields(info) {
		file, named := strings.CutPrefix(word, "file=")
		user, other := strings.CutPrefix(word, "as=")
		switch {
		case i == 0:
			b.Language = word
		case named:
			b.File = file
		case other:
			b.As = user
		case word == "fails":
			b.Fails = true
		case word == "waits":
			b.Waits = true
		case word == "output":
			b.Output = true
		default:
			return nil, fmt.Errorf("%q means nothing here", word)
		}
	}
	if b.Language == "" {
		return nil, fmt.Errorf("the block has no language: text, if it is not to be run")
	}
	return b, nil
}
