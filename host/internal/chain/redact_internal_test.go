package chain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	names := []string{"token", "päss", `q"`}
	for _, c := range []struct{ in, want string }{
		{`{"token":"s3cret","path":"a"}`, `{"token":"[redacted]","path":"a"}`},
		{`{"path":"a","token":12.5e3}`, `{"path":"a","token":"[redacted]"}`},
		{`{"token":true,"a":1}`, `{"token":"[redacted]","a":1}`},
		{`{"token":null}`, `{"token":"[redacted]"}`},
		{`{"token": -1 , "a":[{"token":{"x":["}",{}]}}]}`, `{"token": "[redacted]" , "a":[{"token":"[redacted]"}]}`},
		{`[{"token":[1,[2],"]\"]"]},{"token":""}]`, `[{"token":"[redacted]"},{"token":"[redacted]"}]`},
		{"{\"token\"\n:\t\"a\\\\\"}", "{\"token\"\n:\t\"[redacted]\"}"},
		{`{"token":"a","token":"b"}`, `{"token":"[redacted]","token":"[redacted]"}`},
		// A plugin that uses encoding/json would treat these as the same key.
		{`{"tok\u0065n":"a"}`, `{"tok\u0065n":"[redacted]"}`},
		{`{"TOKEN":"a","P\u00c4SS":"b"}`, `{"TOKEN":"[redacted]","P\u00c4SS":"[redacted]"}`},
		{`{"q\"":"a"}`, `{"q\"":"[redacted]"}`},
		// A value is not a key.
		{`{"a":"token","b":["token","x"]}`, `{"a":"token","b":["token","x"]}`},
		{`{"tokens":"a","to":"b","":"c"}`, `{"tokens":"a","to":"b","":"c"}`},
		{`"token"`, `"token"`},
		{`{}`, `{}`},
	} {
		input, digest := redacted([]byte(c.in), names)
		equal(t, c.in, string(input), c.want)
		equal(t, "the digest of "+c.in, digest, audit.Digest([]byte(c.want)))
	}
	for _, in := range []string{"", "{", `{"token":"a"} x`, `{"token":"a}`, "\x00", strings.Repeat("[", 100_000)} {
		for _, sensitive := range [][]string{nil, names} {
			input, digest := redacted([]byte(in), sensitive)
			if input != nil || digest != audit.Digest([]byte(in)) {
				t.Errorf("%.20q gives %s, %s", in, input, digest)
			}
		}
	}
}

func TestRedactLarge(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s3cret ", 1<<17)
	in := `{"token":"` + secret + `","path":"a"}`
	want := `{"token":"[redacted]","path":"a"}`
	input, digest := redacted([]byte(in), []string{"token"})
	equal(t, "the input", string(input), want)
	equal(t, "the digest", digest, audit.Digest([]byte(want)))

	in = `{"token":"a","text":"` + secret + `"}`
	input, digest = redacted([]byte(in), []string{"token"})
	equal(t, "the length of the input", len(input), 0)
	equal(t, "the digest", digest, audit.Digest([]byte(strings.Replace(in, `"a"`, redact.Mark, 1))))

	in = `"` + strings.Repeat("a", redact.MaxInput-1) + `"`
	if input, _ := redacted([]byte(in), nil); input != nil {
		t.Errorf("an input of %d bytes", len(input))
	}
	if input, _ := redacted([]byte(in[:1]+in[2:]), nil); len(input) != redact.MaxInput {
		t.Errorf("no input of %d bytes", redact.MaxInput)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"token":"SECRET","a":[{"token":["SECRET",{"b":"SECRET"}]}]}`)
	f.Add(`{"tok\u0065n" : "SEC\"RET" , "x":-1e5}`)
	f.Fuzz(func(t *testing.T, in string) {
		input, digest := redacted([]byte(in), []string{"token"})
		if !json.Valid([]byte(in)) {
			if input != nil || digest != audit.Digest([]byte(in)) {
				t.Errorf("text that is not JSON gives %q, %s", input, digest)
			}
			return
		}
		if input == nil {
			return
		}
		equal(t, "the digest", digest, audit.Digest(input))
		gotText, _ := json.Marshal(decoded(t, string(input)))
		wantText, _ := json.Marshal(hide(decoded(t, in)))
		equal(t, "redacted "+in, string(gotText), string(wantText))
	})
}

func decoded(t *testing.T, text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// hide redacts a decoded value.
func hide(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if strings.EqualFold(k, "token") {
				v[k] = "[redacted]"
			} else {
				v[k] = hide(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = hide(v[i])
		}
	}
	return v
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	assert.Equalf(t, got, want, "%s", what)
}

func BenchmarkRedact(b *testing.B) {
	args := []byte(`{"path":"src/main.go","token":"s3cret","lines":[1,20]}`)
	large := []byte(`{"token":"s3cret","text":"` + strings.Repeat("lorem ipsum ", 1<<17) + `"}`)
	for _, c := range []struct {
		name      string
		args      []byte
		sensitive []string
	}{
		{"nothing", args, nil},
		{"none", args, []string{"password"}},
		{"one", args, []string{"token"}},
		{"1.5MB", large, []string{"token"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.args)))
			b.ReportAllocs()
			for b.Loop() {
				redacted(c.args, c.sensitive)
			}
		})
	}
}
