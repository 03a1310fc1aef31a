package scaffold

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"weather": "", "unit-tests": "", "a": "", "a1-b2_c3": "", strings.Repeat("a", 40): "", "go": "", "com10": "",
		"":                        "is empty",
		strings.Repeat("a", 41):   "has 41 characters, and at most 40",
		"Weather":                 "did you mean weather?",
		"my plugin":               "did you mean my-plugin?",
		"toolhost-plugin-Sky":     "did you mean sky?",
		"../x":                    "did you mean x?",
		"/etc/x":                  "did you mean etc-x?",
		"-x":                      "did you mean x?",
		"x-":                      "did you mean x?",
		"a--b":                    "did you mean a-b?",
		"1st":                     "is not the name of a plugin",
		".":                       "is not the name of a plugin",
		"..":                      "is not the name of a plugin",
		"ä":                       "is not the name of a plugin",
		"a\n":                     `"a\n" is not the name`,
		"a\x00":                   "is not the name of a plugin",
		"{{.Name}}":               "did you mean name?",
		"Con":                     "is not the name of a plugin",
		strings.Repeat("\xff", 9): "is not the name of a plugin",
	} {
		err := CheckName(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(text(err), want)) {
			t.Errorf("%q: %v", name, text(err))
		}
	}
}
