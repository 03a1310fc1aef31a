package main

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestReadBounded(t *testing.T) {
	t.Parallel()
	text, err := readBounded("a file", strings.NewReader(strings.Repeat("x", maxArguments)))
	if err != nil || len(text) != maxArguments {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	_, err = readBounded("a file", strings.NewReader(strings.Repeat("x", maxArguments+1)))
	equal(t, "the code", tool.CodeOf(err), tool.CodeResourceExhausted)
}

// Text that other programs write is taken as it is meant, or refused.
func TestArgumentsEncoding(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"\ufeff{}": "{}", "{}": "{}", "\xff\xfe{\x00}\x00": "", "": ""} {
		got, err := readArguments(t.Context(), strings.NewReader(text), []string{"-"})
		if string(got) != want || (err != nil) != (text != "" && want == "") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}
