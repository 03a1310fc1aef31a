package worktest_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// throughProxy has clients ask the proxy for loopback too, as a server of the test has no other
// address; net/http of Go never does, see get.
var throughProxy = []string{"NO_PROXY=", "no_proxy=", "GIT_SSL_CAINFO=ca.pem", "SSL_CERT_FILE=ca.pem", "CURL_CA_BUNDLE=ca.pem"}

// site is a server with TLS that has a page and a repository. It returns its address and its
// certificate.
func site(t *testing.T) (address, certificate string) {
	t.Helper()
	files := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(files, "page"), []byte("a page"), 0o600))
	for _, line := range [][]string{
		{"init", "-q", files + "/work"}, {"-C", files + "/work", "commit", "-q", "--allow-empty", "-m", "far away"},
		{"clone", "-q", "--bare", files + "/work", files + "/repo.git"}, {"-C", files + "/repo.git", "update-server-info"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append(identity, line...)...).CombinedOutput(); err != nil { //nolint:gosec // of this test
			t.Fatalf("git %v: %v\n%s", line, err, out)
		}
	}
	s := httptest.NewTLSServer(http.FileServer(http.Dir(files)))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// A host that was declared is reached by what speaks to a proxy, and no other host is.
func TestTLS(t *testing.T) {
	t.Parallel()
	exec := []string{"git", "sh", helpers(t), "curl", "node"}
	granted, certificate := site(t)
	other, _ := site(t)
	found := pythons(t)
	for _, python := range found {
		exec = append(exec, python.path)
	}
	needs := &tool.Needs{
		Read: []string{"~/.gitconfig", "~/.config/git", "~/.pyenv/versions"}, Write: []string{tool.Workspace}, Net: []string{granted}, Exec: exec,
	}
	inBoxes(t, needs, func(t *testing.T, p *place) {
		p.file(t, "ca.pem", certificate)
		page, repository := "https://"+granted+"/page", "https://"+granted+"/repo.git"
		url := func(line ...string) []string { return line }
		clients := map[string][]string{
			"git":  url("git", "clone", "-q", repository, "clone"),
			"curl": url("curl", "-sS", "-o", "page", page),
		}
		for name, python := range found {
			clients["Python "+name] = url(python.path, "-c", "import sys, urllib.request; assert urllib.request.urlopen(sys.argv[1]).read() == b'a page'", page)
		}
		for name, line := range clients {
			p.runWith(t, throughProxy, line...)
			if p.undeclared || !p.namespaces { // every host is reached, and the report says so
				continue
			}
			for i := range line {
				line[i] = strings.ReplaceAll(line[i], granted, other)
			}
			if r := call[ran](t, p, "run", program{Line: line, Env: throughProxy}); r.Failed == "" {
				t.Errorf("%s reaches a host that was not declared\n%s", name, r.Out)
			}
		}
		if got := call[text](t, p, "get", request{URL: page, CA: certificate}); got.Text != "a page" {
			t.Errorf("Go: %q", got.Text)
		}
	}, func(s *plugin.Settings) {
		if s.Namespace == plugin.NamespaceOff { // hosts cannot be told apart
			s.Sandbox.Net = []string{tool.Any}
		}
	})
}
