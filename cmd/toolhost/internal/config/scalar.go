package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// scalar reads text.
func scalar(want string, f func(d *decoder, key string, n *node)) field {
	return func(d *decoder, key string, n *node) {
		if n.kind != text {
			d.wrong(key, n, want)
			return
		}
		f(d, key, n)
	}
}

func flag(to *bool) field {
	return func(d *decoder, key string, n *node) {
		if n.kind != boolean {
			d.wrong(key, n, "true or false")
			return
		}
		*to = n.text == "true"
	}
}

// maxText bounds a text, in bytes.
const maxText = 32 << 10

func plainText(to *string) field {
	return scalar("text", func(d *decoder, key string, n *node) {
		switch {
		case len(n.text) > maxText:
			d.add(n.at, key, "shorten it", "the text has %d bytes, more than %d", len(n.text), maxText)
		case strings.ContainsRune(n.text, 0):
			d.add(n.at, key, "remove it", "the text has a NUL character")
		default:
			*to = n.text
		}
	})
}

// filePath reads a path and makes it absolute.
func filePath(to *string) field {
	return scalar("a path", func(d *decoder, key string, n *node) {
		var s string
		before := len(d.problems) + d.omitted
		plainText(&s)(d, key, n)
		switch {
		case len(d.problems)+d.omitted > before:
		case strings.TrimSpace(s) == "":
			d.add(n.at, key, "give a path, or remove the key", "the path is empty")
		case s == "~" || strings.HasPrefix(s, "~/"):
			d.add(n.at, key, "write the path in full", "~ is not expanded")
		default:
			*to = d.absolute(s)
		}
	})
}

// pathOr reads one of some words, or a path.
func pathOr(to *string, words ...string) field {
	return func(d *decoder, key string, n *node) {
		if n.kind == text && slices.Contains(words, n.text) {
			*to = n.text
			return
		}
		filePath(to)(d, key, n)
	}
}

func (d *decoder) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(d.src.dir, path)
}

// oneOf reads one of some words.
func oneOf[T ~string](to *T, words ...T) field {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	want := strings.Join(names, ", ")
	return scalar("one of "+want, func(d *decoder, key string, n *node) {
		if !slices.Contains(names, n.text) {
			d.notOneOf(key, n, names)
			return
		}
		*to = T(n.text)
	})
}

func (d *decoder) notOneOf(key string, n *node, names []string) {
	hint := "use " + strings.Join(names, ", ")
	if near := suggest.Nearest(n.text, names, 1); len(near) > 0 {
		hint = "did you mean `" + near[0] + "`?"
	}
	d.add(n.at, key, hint, "unknown word `%s`", shown(n.text))
}

// level reads a safety level, or the word for none where there is one.
func level(to *tool.Safety, none string) field {
	names := []string{"safe", "cautious", "dangerous"}
	if none != "" {
		names = append(names, none)
	}
	return scalar("one of "+strings.Join(names, ", "), func(d *decoder, key string, n *node) {
		if none != "" && n.text == none {
			*to = tool.Unset
			return
		}
		s, err := tool.ParseSafety(n.text)
		if err != nil || s == tool.Unset {
			d.notOneOf(key, n, names)
			return
		}
		*to = s
	})
}

// integer reads a whole number; endless is what the word unlimited stands for.
func integer(to *int, least, most int, endless *int) field {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	if endless != nil {
		want += ", or " + unlimited
	}
	return func(d *decoder, key string, n *node) {
		if endless != nil && n.kind == text && n.text == unlimited {
			*to = *endless
			return
		}
		if n.kind != number || !plainNumber(n.text) {
			if n.kind == number {
				d.add(n.at, key, "give "+want, "%s is not a plain number", shown(n.text))
				return
			}
			d.wrong(key, n, want)
			return
		}
		v, err := strconv.Atoi(n.text)
		if err != nil || v < least || v > most {
			d.add(n.at, key, "give "+want, "%s is out of range", shown(n.text))
			return
		}
		*to = v
	}
}

// duration reads a time; never is allowed where endless is set, and gives 0.
func duration(to *Duration, least, most time.Duration, endless bool) field {
	want := "a time such as 30s or 10m"
	if endless {
		want += ", or " + never
	}
	return func(d *decoder, key string, n *node) {
		if n.kind == number {
			d.add(n.at, key, "give "+want, "%s has no unit", shown(n.text))
			return
		}
		scalar(want, func(d *decoder, key string, n *node) {
			if endless && n.text == never {
				*to = 0
				return
			}
			v, ok := parseDuration(n.text)
			switch {
			case !ok:
				d.add(n.at, key, "give "+want, "`%s` is not a time", shown(n.text))
			case v == 0 && endless:
				d.add(n.at, key, "say "+never+" if it is to have no end", "a time of zero makes no sense")
			case time.Duration(v) < least || time.Duration(v) > most:
				d.add(n.at, key, fmt.Sprintf("give %v to %v", Duration(least), Duration(most)), "%s is out of range", n.text)
			default:
				*to = v
			}
		})(d, key, n)
	}
}

// size reads a number of bytes; unlimited gives 0.
func size(to *Size, least, most Size) field {
	const want = "a size such as 64MiB, or " + unlimited
	return func(d *decoder, key string, n *node) {
		if n.kind == number {
			d.add(n.at, key, "give "+want+"; units are B, KiB, MiB and GiB", "%s has no unit", shown(n.text))
			return
		}
		scalar(want, func(d *decoder, key string, n *node) {
			if n.text == unlimited {
				*to = 0
				return
			}
			v, ok := parseSize(n.text)
			switch {
			case !ok:
				d.add(n.at, key, "give "+want+"; units are B, KiB, MiB and GiB", "`%s` is not a size", shown(n.text))
			case v < least || v > most:
				d.add(n.at, key, fmt.Sprintf("give %v to %v", least, most), "%s is out of range", shown(n.text))
			default:
				*to = v
			}
		})(d, key, n)
	}
}

// rate reads CALLS/PERIOD.
func rate(to *Rate) field {
	const want = "a rate such as 10/1m, or " + unlimited
	return scalar(want, func(d *decoder, key string, n *node) {
		if n.text == unlimited {
			*to = Rate{}
			return
		}
		r, ok := parseRate(n.text)
		switch {
		case !ok:
			d.add(n.at, key, "give "+want+": calls, a slash, and a time above zero", "`%s` is not a rate", shown(n.text))
		case time.Duration(r.Period) > maxTime:
			d.add(n.at, key, "give a period of at most "+Duration(maxTime).String(), "%s is out of range", n.text)
		default:
			*to = r
		}
	})
}

func grant(to *tool.Capability) field { return capability(to, "") }

// grantOrNone reads the word none as no capability.
func grantOrNone(to *tool.Capability) field { return capability(to, "none") }

func capability(to *tool.Capability, none string) field {
	return scalar("a capability such as fs:read", func(d *decoder, key string, n *node) {
		switch c := tool.Capability(n.text); {
		case none != "" && n.text == none:
			*to = ""
		case !c.Valid():
			d.add(n.at, key, "use a word, or two with a colon between them, such as exec or fs:read", "`%s` is not a capability", shown(n.text))
		default:
			*to = c
		}
	})
}
