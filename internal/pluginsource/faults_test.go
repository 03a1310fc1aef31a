package pluginsource

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/registrytest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// size is that of the plugin's file.
const size = 1 << 20

// shelf is a server with one package, in a registry and as a file, that can have faults.
type shelf struct {
	t    *testing.T
	file []byte // the package
	root ocispec.Descriptor
	blob ocispec.Descriptor // the plugin's file
	text []byte             // of that
	*httptest.Server

	mu sync.Mutex
	// fault answers a request for the plugin's file, or the package file, instead; false: the next.
	fault func(w http.ResponseWriter, r *http.Request) bool
	asked []string // the ranges of such requests
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, text: make([]byte, size)}
	_, _ = rand.Read(s.text)
	at := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(at, s.text, 0o600))
	p, err := pluginpackage.Build(t.Context(), pluginpackage.Input{Manifest: pluginpackage.Manifest{
		Name: "sample", Version: "1.2.3", Description: "Greets.", License: "Apache-2.0", Protocols: []int{1},
	}, Files: map[string]string{"linux/amd64": at}})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, p.WriteTar(t.Context(), &b))
	s.file, s.root = b.Bytes(), p.Root()
	if s.blob, err = p.File("linux/amd64"); err != nil {
		t.Fatal(err)
	}
	next := registrytest.New(t)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		large := r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, s.blob.Digest.String()) || strings.HasSuffix(r.URL.Path, ".tar"))
		if large && s.answered(w, r) {
			return
		}
		switch {
		case strings.HasSuffix(r.URL.Path, ".tar"):
			w.Header().Set("Etag", `"one"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.file))
		case large:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.text))
		default:
			next.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	repository := require.Must(remote.NewRepository(strings.TrimPrefix(s.URL, "http://") + "/sample"))(t)
	repository.PlainHTTP = true
	all := p.Descriptors()
	for _, d := range append(all[1:len(all):len(all)], all[0]) {
		body, err := p.Open(t.Context(), d)
		if err == nil {
			err = repository.Push(t.Context(), d, body)
		}
		require.NoError(t, err)
	}
	require.NoError(t, repository.Tag(t.Context(), all[0], "1.2.3"))
	return s
}

// answered notes a request, and reports whether there was a fault in place of an answer.
func (s *shelf) answered(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.asked = append(s.asked, r.Header.Get("Range"))
	fault := s.fault
	s.mu.Unlock()
	return fault != nil && fault(w, r)
}

// faulty sets the fault from now on, and forgets what was asked.
func (s *shelf) faulty(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.asked = f, nil
}

func (s *shelf) ranges() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

func (s *shelf) oci() string { return "oci" + strings.TrimPrefix(s.URL, "http") + "/sample" }
func (s *shelf) tar() string { return s.URL + "/sample-1.2.3.tar" }

// half sends half of a content that is said to be whole, and ends the connection.
func half(w http.ResponseWriter, content []byte) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Header().Set("Accept-Ranges", "bytes")
	w.Header().Set("Etag", `"one"`)
	_, _ = w.Write(content[:len(content)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// place is a directory for what is fetched.
type place struct {
	root *os.Root
	path string
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	root := require.Must(os.OpenRoot(dir))(t)
	t.Cleanup(func() { _ = root.Close() })
	return place{root, dir}
}

// fetch finds the package and saves the plugin's file.
func (p place) fetch(ctx context.Context, text string) error {
	ref, err := Parse(text)
	if err != nil {
		return err
	}
	s, err := Open(ctx, ref, Options{Dir: p.root, Path: p.path})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	found, err := s.Find(ctx, "")
	if err != nil {
		return err
	}
	d, err := found.File("linux/amd64")
	if err != nil {
		return err
	}
	return found.Blobs.Save(ctx, d, p.root, "file"+Part)
}

func (p place) has(t *testing.T, want []byte) {
	t.Helper()
	got, err := p.root.ReadFile("file" + Part)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("it has %d bytes, %v", len(got), err)
	}
}

func fails(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, without %q", err, text)
		}
	}
}

// A server that cuts off is asked to go on, and not to begin again.
func TestCutOff(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for ref, content := range map[string][]byte{s.oci(): s.text, s.tar(): s.file} {
		p, times := newPlace(t), 0
		s.faulty(func(w http.ResponseWriter, r *http.Request) bool {
			if times++; times == 1 {
				half(w, content)
			}
			return false
		})
		if err := p.fetch(t.Context(), ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		p.has(t, s.text)
		if last := s.ranges(); !strings.HasPrefix(last[len(last)-1], "bytes=") || strings.HasPrefix(last[len(last)-1], "bytes=0-") {
			t.Errorf("%s: it asked for the ranges %q", ref, last)
		}
	}
}

// A server that lies is cut off and named.
func TestLies(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	other := bytes.Repeat([]byte("x"), size)
	for name, c := range map[string]struct {
		fault func(w http.ResponseWriter, r *http.Request) bool
		says  string
	}{
		"other bytes": {func(w http.ResponseWriter, r *http.Request) bool {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(other))
			return true
		}, "not what its digest says"},
		"too much": {func(w http.ResponseWriter, _ *http.Request) bool {
			for { // for as long as the client reads; the length is not said
				if _, err := w.Write(other); err != nil {
					return true
				}
			}
		}, "more than the 1048576 bytes"},
		"another length": {func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write(append(other, 'x'))
			return true
		}, "more than the 1048576 bytes"},
		"too little": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/octet-stream")
			_ = http.NewResponseController(w).Flush()
			return true
		}, "ended it after 0 of 1048576 bytes"},
	} {
		s.faulty(c.fault)
		err := newPlace(t).fetch(t.Context(), s.oci())
		t.Logf("%s: %v", name, err)
		fails(t, err, c.says, strings.TrimPrefix(s.URL, "http://"))
	}
}

func TestDown(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.Close()
	fails(t, newPlace(t).fetch(t.Context(), s.oci()), "connection refused")
	fails(t, newPlace(t).fetch(t.Context(), s.tar()), "connection refused")
}

// A server that answers badly for a moment is asked again.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	times := 0
	s.faulty(func(w http.ResponseWriter, _ *http.Request) bool {
		times++
		if times < 3 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
		return times < 3
	})
	assert.NoError(t, newPlace(t).fetch(t.Context(), s.oci()))
}

// A slow server is waited for while bytes come; one that stalls is given up on.
func TestStalled(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	u, err := url.Parse(s.tar())
	require.NoError(t, err)
	client := newClient(u)
	client.Transport.(*guard).stall = 50 * time.Millisecond
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	s.faulty(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(s.file)))
		_, _ = w.Write(s.file[:10])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		return true
	})
	p := newPlace(t)
	d := &download{client: client, url: u}
	err = d.save(t.Context(), p.root, "x"+Part, nil)
	fails(t, err, "sent nothing for too long", u.Host)
	if n := len(s.ranges()); n != 1 {
		t.Errorf("a server that stalls was asked %d times", n)
	}
	s.faulty(func(_ http.ResponseWriter, r *http.Request) bool { // not even a header comes
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		return true
	})
	fails(t, d.save(t.Context(), p.root, "y"+Part, nil), "sent nothing for too long", u.Host)
	if n := len(s.ranges()); n != 1 {
		t.Errorf("a server that does not answer was asked %d times", n)
	}
}

// A registry that names another site for tokens gets no credentials sent there, unless Docker's configuration has
// that one, too.
func TestRealmElsewhere(t *testing.T) {
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	s := newShelf(t)
	var told []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.Header.Get("Authorization"))
		_, _ = fmt.Fprint(w, `{"token": "of-elsewhere"}`)
	}))
	defer elsewhere.Close()
	s.faulty(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer of-elsewhere" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+elsewhere.URL+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	at := func(one string) string { return strings.TrimPrefix(one, "http://") }
	docker := func(hosts ...string) {
		auths := []string{}
		for _, host := range hosts {
			auths = append(auths, fmt.Sprintf(`%q: {"auth": "bWU6c2VjcmV0"}`, host))
		}
		text := `{"auths": {` + strings.Join(auths, ",") + `}}`
		require.NoError(t, os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600))
	}
	docker(at(s.URL))
	fails(t, newPlace(t).fetch(t.Context(), s.oci()), "another site", "docker login "+at(elsewhere.URL))
	if len(told) > 0 {
		t.Errorf("the other site was told %q", told)
	}
	docker(at(s.URL), at(elsewhere.URL))
	require.NoError(t, newPlace(t).fetch(t.Context(), s.oci()))
	if len(told) != 1 || told[0] != "Basic bWU6c2VjcmV0" {
		t.Errorf("after a yes, it was told %q", told)
	}
}

// Credentials are those of Docker's configuration, and go to no other server.
func TestRedirectWithoutCredentials(t *testing.T) {
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	s := newShelf(t)
	host := strings.TrimPrefix(s.URL, "http://")
	if err := os.WriteFile(filepath.Join(config, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":"bWU6c2VjcmV0"}}}`, host), 0o600); err != nil {
		t.Fatal(err)
	}
	var told, came []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.Header.Get("Authorization"))
		if len(told) == 1 { // it asks for them
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.text))
	}))
	defer elsewhere.Close()
	s.faulty(func(w http.ResponseWriter, r *http.Request) bool {
		came = append(came, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		http.Redirect(w, r, elsewhere.URL+"/blob", http.StatusTemporaryRedirect)
		return true
	})
	first := newPlace(t).fetch(t.Context(), s.oci())
	fails(t, first, "docker login")
	assert.NoError(t, newPlace(t).fetch(t.Context(), s.oci()))
	if strings.Join(told, "") != "" || len(told) < 2 {
		t.Errorf("the other server was told %q", told)
	}
	assert.Containsf(t, strings.Join(came, " "), "Basic bWU6c2VjcmV0", "the registry was told %q", came)
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for to, says := range map[string]string{
		s.tar():                          "redirects more than 5 times",
		"http://example.com/a.tar":       "only https is followed",
		"ftp://example.com/a.tar":        "only https is followed",
		"http://169.254.169.254/a.tar":   "only https is followed",
		"file:///etc/passwd":             "only https is followed",
		"http://localhost.example/a.tar": "only https is followed",
	} {
		s.faulty(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return true
		})
		fails(t, newPlace(t).fetch(t.Context(), s.tar()), says)
	}
}

// A file that changed while it was fetched is not taken; the next command fetches it.
func TestChanged(t *testing.T) {
	t.Parallel()
	s, p := newShelf(t), newPlace(t)
	times := 0
	s.faulty(func(w http.ResponseWriter, r *http.Request) bool {
		if times++; times == 1 {
			half(w, s.file)
		}
		w.Header().Set("Etag", `"two"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.file))
		return true
	})
	fails(t, p.fetch(t.Context(), s.tar()), "changed while it was fetched")
	assert.NoError(t, p.fetch(t.Context(), s.tar()))
	p.has(t, s.text)
}

func TestParse(t *testing.T) {
	t.Parallel()
	sum := digest.FromString("x").String()
	for text, want := range map[string]Ref{
		"oci://host.example/a/b":              {Kind: Registry, Place: "oci://host.example/a/b"},
		"oci://host.example:5000/a":           {Kind: Registry, Place: "oci://host.example:5000/a"},
		"oci://host.example:5000/a:1.2":       {Kind: Registry, Place: "oci://host.example:5000/a", Tag: "1.2"},
		"oci://host.example/a:stable@" + sum:  {Kind: Registry, Place: "oci://host.example/a", Tag: "stable", Digest: digest.Digest(sum)},
		"https://host.example/a.tar@" + sum:   {Kind: WebFile, Place: "https://host.example/a.tar", Digest: digest.Digest(sum)},
		"https://host.example/a/index.json#b": {Kind: WebIndex, Place: "https://host.example/a/index.json", Plugin: "b"},
		"https://host.example/a/":             {Kind: WebIndex, Place: "https://host.example/a/index.json"},
		"https://host.example/a":              {Kind: WebIndex, Place: "https://host.example/a/index.json"},
		"https://host.example":                {Kind: WebIndex, Place: "https://host.example/index.json"},
		"https://host.example/a#b@1.2.0":      {Kind: WebIndex, Place: "https://host.example/a/index.json", Plugin: "b", Tag: "1.2.0"},
		"http://127.0.0.1:1/a.tar":            {Kind: WebFile, Place: "http://127.0.0.1:1/a.tar"},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "oci://", "oci://host.example", "oci://host.example/A", "oci://host.example/a:b:c", "oci://host.example/a@sha256:12",
		"http://host.example/a.tar", "https://me:secret@host.example/a.tar", "ftp://host.example/a.tar",
		"/nowhere/at/all.tar", "a\nb", "https://host.example/a.tar#b", "https://host.example/a.tar#@1.2.0", strings.Repeat("a", maxRef+1),
	} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestParseIndexRefuses(t *testing.T) {
	t.Parallel()
	entry := func(version, file, sum, size string) string {
		return fmt.Sprintf(`{"schema_version":1,"plugins":{"a":[{"version":%q,"file":%q,"digest":%q,"size":%s}]}}`, version, file, sum, size)
	}
	sum := digest.FromString("x").String()
	if _, err := ParseIndex([]byte(entry("1.0.0", "a.tar", sum, "1"))); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		"", "{}", `{"schema_version":2}`, `{"schema_version":1} {}`, `{"schema_version":1,"x":1}`,
		entry("1", "a.tar", sum, "1"), entry("1.0.0", "../a.tar", sum, "1"), entry("1.0.0", "/a.tar", sum, "1"), entry("1.0.0", "..", sum, "1"),
		entry("1.0.0", `a\b.tar`, sum, "1"), entry("1.0.0", "http:a", sum, "1"), entry("1.0.0", "", sum, "1"), entry("1.0.0", "a.tar", "md5:1", "1"),
		entry("1.0.0", "a.tar", sum, "0"), entry("1.0.0", "a.tar", sum, "99999999999999"),
	} {
		if _, err := ParseIndex([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}
