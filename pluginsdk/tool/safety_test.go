package tool_test

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestParseSafety(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]tool.Safety{
		"": tool.Unset, "safe": tool.Safe, "cautious": tool.Cautious, "moderate": tool.Cautious, "dangerous": tool.Dangerous,
	} {
		if got, err := tool.ParseSafety(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"Safe", " safe", "harmless", "Safety(9)"} {
		got, err := tool.ParseSafety(text)
		if tool.CodeOf(err) != tool.CodeInvalidDefinition || got != tool.Unset {
			t.Errorf("%q: %v, %v, want a refusal", text, got, err)
		}
	}
}

func TestSafetyOrder(t *testing.T) {
	t.Parallel()
	levels := []tool.Safety{tool.Unset, tool.Safe, tool.Cautious, tool.Dangerous}
	for i, s := range levels {
		if i > 0 && levels[i-1] >= s {
			t.Errorf("%v is not above %v", s, levels[i-1])
		}
		b := require.Must(s.MarshalText())(t)
		var back tool.Safety
		if err := back.UnmarshalText(b); err != nil || back != s {
			t.Errorf("%v decoded as %v, %v", s, back, err)
		}
	}
	for _, s := range []tool.Safety{-1, tool.Dangerous + 1, 127, -128} {
		if _, err := s.MarshalText(); err == nil {
			t.Errorf("%v has a text", s)
		}
		if s.String() == "" {
			t.Errorf("%d has no string", int8(s))
		}
	}
}

func TestSafetyEffective(t *testing.T) {
	t.Parallel()
	for s, want := range map[tool.Safety]tool.Safety{
		tool.Unset: tool.Dangerous, tool.Safe: tool.Safe, tool.Cautious: tool.Cautious, tool.Dangerous: tool.Dangerous,
		-1: tool.Dangerous, 9: tool.Dangerous,
	} {
		assert.Equalf(t, s.Effective(), want, "%v counts as", s)
	}
}

func TestSafetyIsLeftAloneByABadText(t *testing.T) {
	t.Parallel()
	s := tool.Cautious
	if err := s.UnmarshalText([]byte("bad")); err == nil || s != tool.Cautious {
		t.Errorf("%v, %v", s, err)
	}
}
