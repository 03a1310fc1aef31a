package process

import "testing"

func TestBuffer(t *testing.T) {
	t.Parallel()
	b := NewBuffer(8)
	for _, s := range []string{"abc", "defghi", "jk", "", "lmnopq"} {
		if n, err := b.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := b.String(), "abcdef\n[... 9 bytes truncated ...]\npq"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
