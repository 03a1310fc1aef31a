package check

import (
	"bytes"
	"errors"
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// parsedFile is a file as one batch read it.
type parsedFile struct {
	once    sync.Once
	syntax  *ast.File          // nil: it cannot be read
	outline source.Fingerprint // of the file without the bodies of its functions
	errors  []packages.Error
}

// parser parses each file once, for all packages that it is part of. It is safe for
// concurrent use.
type parser struct {
	fset   *token.FileSet
	mu     sync.Mutex
	parsed map[string]*parsedFile
	onRead func() // called after each file; nil: nothing is
}

func (p *parser) parse(path string) *parsedFile {
	p.mu.Lock()
	f := p.parsed[path]
	if f == nil {
		f = &parsedFile{}
		p.parsed[path] = f
	}
	p.mu.Unlock()
	f.once.Do(func() {
		f.read(p.fset, path)
		if p.onRead != nil {
			p.onRead()
		}
	})
	return f
}

func (f *parsedFile) read(fset *token.FileSet, path string) {
	content, err := os.ReadFile(path)
	if err != nil {
		f.errors = append(f.errors, packages.Error{Msg: err.Error(), Kind: packages.ParseError})
		return
	}
	f.syntax, err = source.ParseFile(fset, path, content)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		for _, e := range list {
			f.errors = append(f.errors, packages.Error{Pos: e.Pos.String(), Msg: e.Msg, Kind: packages.ParseError})
		}
	}
	f.outline = outlineFingerprint(fset, f.syntax, content)
}

// outlineFingerprint covers all of a file that importers can see the effects of: what
// it declares, and on which lines.
func outlineFingerprint(fset *token.FileSet, f *ast.File, content []byte) source.Fingerprint {
	h := source.NewHasher()
	from := 0
	if f != nil {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			begin, end := fset.PositionFor(fn.Body.Pos(), false).Offset, fset.PositionFor(fn.Body.End(), false).Offset
			if from <= begin && begin <= end && end <= len(content) {
				h.Bytes(content[from:begin])
				h.Number(int64(bytes.Count(content[begin:end], []byte("\n"))))
				from = end
			}
		}
	}
	h.Bytes(content[from:])
	return h.Sum()
}
