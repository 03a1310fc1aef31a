package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// newest is the format that is written if there are lines of it, else plain is. Older ones are read.
const (
	newest = 3
	plain  = 2
)

// maxSource bounds a REF, in bytes.
const maxSource = 4 << 10

// format is the oldest that can be read by who knows it.
func (l *Lock) format() int {
	if l.Others {
		return newest
	}
	for _, name := range l.Names() {
		if _, script := l.elsewhere[name][AnyPlatform]; script || l.Plugins[name].Source != "" {
			return newest
		}
	}
	return plain
}

const head = `# Made by toolhost plugins lock. It pins what may run: anything else is refused.
# Do not edit it; run the command again to accept what has changed.
`

// headOfSome is the head of a lock that ends in the line others.
const (
	headOfSome = `# Made by toolhost plugins install. It pins these plugins; toolhost plugins lock pins all.
`
	others = "others run"
)

// Bytes returns the file's content, the same for equal locks.
//
// # Errors
//
// A plain error for a malformed name, digest or version.
func (l *Lock) Bytes() ([]byte, error) {
	var b bytes.Buffer
	top := head
	if l.Others {
		top = headOfSome
	}
	fmt.Fprintf(&b, "%sformat %d\n", top, l.format())
	for _, name := range l.Names() {
		e, platforms := l.Plugins[name], maps.Clone(l.elsewhere[name])
		if err := e.check(name, len(platforms) > 0); err != nil {
			return nil, err
		}
		if platforms == nil {
			platforms = map[string]foreign{}
		}
		if e.SHA256 != "" && e.SHA256 != platforms[AnyPlatform].digest {
			platforms[platform] = foreign{e.SHA256, e.Needs}
		}
		b.WriteByte('\n')
		for _, at := range slices.Sorted(maps.Keys(platforms)) {
			if p := platforms[at]; p.digest != "" {
				fmt.Fprintf(&b, "%s binary %s %s%s\n", name, at, digestPrefix, p.digest)
			}
		}
		for _, at := range slices.Sorted(maps.Keys(platforms)) {
			if p := platforms[at]; p.needs != "" {
				fmt.Fprintf(&b, "%s needs %s %s\n", name, at, p.needs)
			}
		}
		if e.Identity != "" {
			fmt.Fprintf(&b, "%s identity %s%s\n", name, digestPrefix, e.Identity)
		}
		fmt.Fprintf(&b, "%s definitions %s%s\n", name, digestPrefix, e.Definitions)
		for _, tool := range slices.Sorted(maps.Keys(e.Tools)) {
			fmt.Fprintf(&b, "%s tool %s %s\n", name, tool, e.Tools[tool])
		}
		if e.Source != "" {
			fmt.Fprintf(&b, "%s source %s\n", name, e.Source)
		}
		if isPlain(e.Version) {
			fmt.Fprintf(&b, "%s version %s\n", name, e.Version)
		} else {
			fmt.Fprintf(&b, "%s version %s\n", name, strconv.QuoteToGraphic(e.Version))
		}
	}
	if l.Others {
		fmt.Fprintf(&b, "\n%s\n", others)
	}
	if b.Len() > MaxSize {
		return nil, fmt.Errorf("the lock would have %d bytes, more than %d", b.Len(), MaxSize)
	}
	return b.Bytes(), nil
}

func (e Entry) check(name string, elsewhere bool) error {
	switch {
	case !ident.Valid(name):
		return fmt.Errorf("%.70q is not a valid name of a plugin", name)
	case e.Identity != "" && !isDigest(e.Identity), e.Identity != "" && e.SHA256 != "":
		return fmt.Errorf("server %s cannot be pinned: its digest is malformed", name)
	case !isDigest(e.Definitions) || !isDigest(e.SHA256) && (e.SHA256 != "" || !elsewhere && e.Identity == ""):
		return fmt.Errorf("plugin %s cannot be pinned: a digest is missing or malformed", name)
	case e.Needs != "" && e.SHA256 == "":
		return fmt.Errorf("plugin %s cannot be pinned: it has needs and no binary", name)
	case e.Source != "" && checkSource(e.Source) != nil:
		return fmt.Errorf("plugin %s cannot be pinned: its source: %w", name, checkSource(e.Source))
	case len(e.Version) > maxVersion || !utf8.ValidString(e.Version):
		return fmt.Errorf("plugin %s cannot be pinned: its version has more than %d bytes, or is not UTF-8", name, maxVersion)
	}
	return nil
}

// Parse reads the content of a file of that name, which is not opened.
//
// # Errors
//
// A plain error with the name, the line and what to do, for the first thing that is wrong.
func Parse(file string, content []byte) (*Lock, error) {
	p := parser{lock: &Lock{Plugins: map[string]Entry{}}, seen: map[string]bool{}}
	line, err := p.parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w (restore the file, or write it again: %s)", file, max(line, 1), err, remedy.Lock)
	}
	return p.lock, nil
}

type parser struct {
	lock   *Lock
	format int             // 0: not read yet
	seen   map[string]bool // by plugin and fact
}

// parse returns the number of the line with the error.
func (p *parser) parse(content []byte) (line int, err error) {
	if len(content) > MaxSize {
		return 0, fmt.Errorf("the file has more than %d bytes", MaxSize)
	}
	if !utf8.Valid(content) {
		return 0, errors.New("the file is not UTF-8 text")
	}
	for text := range strings.Lines(string(content)) {
		line++
		if !strings.HasSuffix(text, "\n") {
			return line, errors.New("the last line has no end: the file is cut off")
		}
		if err := p.add(strings.TrimRight(text, "\r\n")); err != nil {
			return line, err
		}
	}
	if p.format == 0 {
		return line, errors.New("the file is empty")
	}
	for _, name := range p.lock.Names() {
		p.lock.takeAny(name)
		what := "binary"
		if p.lock.Plugins[name].Identity != "" {
			what = "identity"
		}
		if p.seen[name+" binary"] && what == "identity" {
			return line, fmt.Errorf("%s is pinned as a binary and as a server: the file is badly merged", name)
		}
		if e := p.lock.Plugins[name]; e.Needs != "" && e.SHA256 == "" {
			return line, fmt.Errorf("%s has needs and no binary for %s: the file is badly merged", name, platform)
		}
		for at, f := range p.lock.elsewhere[name] {
			if f.digest == "" {
				return line, fmt.Errorf("%s has needs and no binary for %s: the file is badly merged", name, at)
			}
		}
		for _, fact := range []string{what, "definitions", "version"} {
			if !p.seen[name+" "+fact] {
				return line, fmt.Errorf("%s has no line %s: the file is cut off, or badly merged", name, fact)
			}
		}
	}
	return line, nil
}

func (p *parser) add(line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	if p.format == 0 {
		return p.setFormat(line)
	}
	if line == others && p.format == newest {
		p.lock.Others = true
		return nil
	}
	fields := strings.SplitN(line, " ", 3)
	if len(fields) < 3 || !ident.Valid(fields[0]) {
		return fmt.Errorf("expected a plugin's name, a fact and its value, got %s", sanitize.Quote(line, 60))
	}
	name, fact, value := fields[0], fields[1], fields[2]
	e := p.lock.Plugins[name]
	key := name + " " + fact
	var err error
	switch fact {
	case "binary", "needs":
		at := platform
		if p.format > 1 {
			at, value, _ = strings.Cut(value, " ")
		}
		if !isPlatform(at) || at == AnyPlatform && p.format <= plain {
			return fmt.Errorf("%s of %s: expected a platform such as %s, got %s", fact, name, platform, sanitize.Quote(at, 40))
		}
		p.seen[key] = true
		key += " " + at
		if fact == "needs" {
			err = p.lock.addNeeds(name, at, value, &e)
			break
		}
		var digest string
		if digest, err = parseDigest(value); err == nil && at == platform {
			e.SHA256 = digest
		} else if err == nil {
			p.lock.addElsewhere(name, at, foreign{digest: digest})
		}
	case "source":
		e.Source, err = value, checkSource(value)
		if p.format <= plain {
			err = fmt.Errorf("format %d has no such fact", p.format)
		}
	case "identity":
		e.Identity, err = parseDigest(value)
	case "tool":
		key, err = e.addTool(key, value)
	case "definitions":
		e.Definitions, err = parseDigest(value)
	case "version":
		e.Version, err = parseVersion(value)
	default:
		return fmt.Errorf("unknown fact %s: a newer toolhost may have written the file", sanitize.Quote(fact, 20))
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", fact, name, err)
	}
	if p.seen[key] {
		return fmt.Errorf("%s is there twice", sanitize.Quote(key, 100))
	}
	p.seen[key] = true
	p.lock.Plugins[name] = e
	return nil
}

func (p *parser) setFormat(line string) error {
	text, ok := strings.CutPrefix(line, "format ")
	n, err := strconv.ParseUint(text, 10, 31)
	switch {
	case !ok || err != nil || n == 0:
		return fmt.Errorf("expected format %d, got %s: this is not a lock", plain, sanitize.Quote(line, 60))
	case n > newest:
		return fmt.Errorf("format %d is newer than %d, the newest that this toolhost knows: use the toolhost that wrote it", n, newest)
	}
	p.format = int(n)
	return nil
}

// takeAny pins the file for any platform on this one, if there is none for it.
func (l *Lock) takeAny(name string) {
	e, script := l.Plugins[name], l.elsewhere[name][AnyPlatform]
	if e.SHA256 == "" && script.digest != "" {
		e.SHA256, e.Needs = script.digest, script.needs
		l.Plugins[name] = e
	}
}

// checkSource checks that a REF is one line and has the digest of a package.
func checkSource(ref string) error {
	i := strings.LastIndex(ref, "@")
	if i <= 0 || len(ref) > maxSource || !utf8.ValidString(ref) || strings.ContainsFunc(ref, unicode.IsControl) {
		return errors.New("expected REF@" + digestPrefix + "DIGEST, got " + sanitize.Quote(ref, 100))
	}
	_, err := parseDigest(ref[i+1:])
	return err
}

func parseDigest(value string) (string, error) {
	digest, ok := strings.CutPrefix(value, digestPrefix)
	if !ok || !isDigest(digest) {
		return "", fmt.Errorf("expected %s and 64 lower-case hexadecimal digits, got %s", digestPrefix, sanitize.Quote(value, 80))
	}
	return digest, nil
}

func parseVersion(value string) (version string, err error) {
	version = value
	if strings.HasPrefix(value, `"`) {
		if version, err = strconv.Unquote(value); err != nil {
			return "", errors.New("malformed quotes in " + sanitize.Quote(value, 80))
		}
	} else if !isPlain(value) {
		return "", errors.New("expected a version, in quotes if it has anything but letters, digits and ._+-, got " +
			sanitize.Quote(value, 80))
	}
	if len(version) > maxVersion || !utf8.ValidString(version) {
		return "", fmt.Errorf("it has more than %d bytes, or is not UTF-8", maxVersion)
	}
	return version, nil
}
