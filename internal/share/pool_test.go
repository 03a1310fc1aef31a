package share

import "testing"

// A caller alone has half, and each one who comes later finds something.
func TestPool(t *testing.T) {
	t.Parallel()
	p := NewPool(64)
	for i, caller := range []string{"a", "b", "c", "d"} {
		n := 0
		for {
			if _, _, ok := p.Take(caller, 1); !ok {
				break
			}
			n++
		}
		if want := 32 >> i; n != want {
			t.Errorf("caller %s has %d, want %d", caller, n, want)
		}
	}
	if own, others, ok := p.Take("b", 1); own != 16 || others != 44 || ok {
		t.Errorf("b has %d, and the others %d; %v", own, others, ok)
	}
	p.Give("a", 32) // b may have more now
	if _, _, ok := p.Take("b", 8); !ok {
		t.Error("b gets nothing of what a returned")
	}
	p.Give("b", 24)
	p.Give("c", 8)
	p.Give("d", 4)
	if n := p.Used(); n != 0 || len(p.of) != 0 {
		t.Errorf("%d are in use, of %v", n, p.of)
	}
}
