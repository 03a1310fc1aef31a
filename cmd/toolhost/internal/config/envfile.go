package config

import (
	"fmt"
	"strings"
)

// maxEnvFile bounds a file of variables, in bytes: 256 KiB.
const maxEnvFile = 256 << 10

// parseEnvFile reads lines NAME=value, as editors and dotenv libraries do: a # begins a
// comment, export may stand in front, and a value may be quoted with ", ' or `, over several
// lines too. Only \n, \r, \t, \" and \\ are replaced, and only in double quotes; $ is text.
//
// # Errors
//
// The number of the line that cannot be read, without its text.
func parseEnvFile(text string) (map[string]string, error) {
	out := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		number, line := i+1, strings.TrimSpace(lines[i])
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export "))
		if value = strings.TrimLeft(value, " \t"); !ok || !plainVariable().MatchString(name) {
			return nil, fmt.Errorf("line %d is not NAME=value (mend it, or put # in front)", number)
		}
		if value == "" || !strings.ContainsRune("\"'`", rune(value[0])) {
			value, _, _ = strings.Cut(" "+value, " #")
			out[name] = strings.TrimSpace(value)
			continue
		}
		quote, rest := value[0], value[1:]
		end := endOfQuote(rest, quote)
		for end < 0 && i+1 < len(lines) {
			i++
			rest += "\n" + lines[i]
			end = endOfQuote(rest, quote)
		}
		if end < 0 {
			return nil, fmt.Errorf("line %d begins a text that does not end (close the quote)", number)
		}
		if value = rest[:end]; quote == '"' {
			value = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(value)
		}
		out[name] = value
	}
	return out, nil
}

// endOfQuote returns where a quoted text ends; -1: it does not.
func endOfQuote(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}
