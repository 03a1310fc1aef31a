package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

var (
	// secretName matches names of what is kept secret.
	secretName = lazy.Regexp(`(?i)(token|secret|passw|api[_-]?key|access[_-]?key|private[_-]?key|credential|` +
		`authorization|bearer|cookie|signature|connection[_-]?string|database[_-]?url|dsn$|` +
		`(^|[_-])(auth|key|pat|pwd|jwt|sig)$)`)
	// secretValue matches values that are made as secrets: with the prefixes of well-known
	// services, JSON web tokens, URLs with a password.
	secretValue = lazy.Regexp(`(^|[^A-Za-z0-9])(sk|pk|rk)[-_][A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{10,}|` +
		`github_pat_|glpat-|xox[a-z]-|AKIA[A-Z0-9]{8,}|AIza[A-Za-z0-9_-]{10,}|(hf|npm)_[A-Za-z0-9]{10,}|` +
		`eyJ[A-Za-z0-9_-]{10,}\.|(?i)bearer \S|basic [a-z0-9+/=]{8,}|://[^/@\s]*:[^/@\s]+@|-----BEGIN`)
	// random matches long words of letters and digits, of which [isRandom] says more.
	random = lazy.Regexp(`[A-Za-z0-9_+=-]{24,}`)
	// scheme matches what is left of a header whose secret is a reference.
	scheme = lazy.Regexp(`(?i)^\s*(bearer|basic|token)?\s*$`)
)

// looksSecret reports whether a value of that name looks like a secret. Name is that of a
// variable, header, flag or query parameter; it may be empty.
// References to variables are none.
func looksSecret(name, value string) bool {
	value = anyReference().ReplaceAllString(value, "")
	return !scheme().MatchString(value) && (secretName().MatchString(name) || secretValue().MatchString(value) || isRandom(value))
}

// isRandom reports whether a text has a long word in which letters and digits are mixed.
func isRandom(value string) bool {
	return slices.ContainsFunc(random().FindAllString(value, -1), func(word string) bool {
		changes := 0
		for i := 1; i < len(word); i++ {
			if isDigit(word[i]) != isDigit(word[i-1]) {
				changes++
			}
		}
		return changes >= 5
	})
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Hide returns what stands in place of a secret. Name is that of its flag, header, variable or
// query parameter; it may be empty.
type Hide func(name, secret string) string

func hidden(string, string) string { return hiddenValue }

// Shown returns the arguments, with those hidden that look like secrets.
func (a Arguments) Shown() []string { return a.Replace(hidden) }

// Replace returns the arguments, with what looks like a secret replaced.
func (a Arguments) Replace(hide Hide) []string {
	out := make([]string, len(a))
	flag := ""
	for i, one := range a {
		name, value, pair := strings.Cut(one, "=")
		of, text, header := strings.Cut(one, ":")
		bare := strings.TrimLeft(name, "-")
		switch text = strings.TrimSpace(text); {
		case pair && !strings.ContainsAny(name, " /:") && looksSecret(name, value):
			out[i] = name + "=" + hide(bare, value)
		case header && !strings.HasPrefix(text, "//") && looksSecret(of, text):
			out[i] = of + ": " + hide(of, text)
		case looksSecret(flag, one):
			out[i] = hide(strings.TrimLeft(flag, "-"), one)
		default:
			out[i] = one
		}
		if flag = ""; strings.HasPrefix(one, "-") && !pair {
			flag = one
		}
	}
	return out
}

// Shown returns the URL without a user and without what looks like a secret.
func (a Address) Shown() string { return a.Replace(hidden) }

// Replace returns the URL with its user and what looks like a secret replaced.
func (a Address) Replace(hide Hide) string {
	before, query, ok := strings.Cut(string(a), "?")
	if u, err := url.Parse(before); err == nil && u.User != nil {
		user := u.User.String()
		u.User = nil
		before = u.Scheme + "://" + hide("user", user) + "@" + strings.TrimPrefix(u.String(), u.Scheme+"://")
	}
	parts := strings.Split(before, "/")
	for i, part := range parts {
		if i > 2 && looksSecret("", part) {
			parts[i] = hide("path", part)
		}
	}
	out := strings.Join(parts, "/")
	if !ok {
		return out
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); looksSecret(name, value) {
			pairs[i] = name + "=" + hide(name, value)
		}
	}
	return out + "?" + strings.Join(pairs, "&")
}

// Replace returns the variables with the values replaced that look like secrets. Those that
// have another source stay as they are.
func (e Environment) Replace(hide Hide) Environment {
	out := slices.Clone(e)
	for i, v := range out {
		out[i] = v.Replace(hide)
	}
	return out
}

// Replace returns the variable with its value replaced if that looks like a secret.
func (v Variable) Replace(hide Hide) Variable {
	if v.value == nil || !looksSecret(v.Name, *v.value) {
		return v
	}
	text := *v.value
	if word, rest, ok := strings.Cut(text, " "); ok && scheme().MatchString(word) { // of an Authorization
		return Value(v.Name, word+" "+hide(v.Name, rest))
	}
	return Value(v.Name, hide(v.Name, text))
}
