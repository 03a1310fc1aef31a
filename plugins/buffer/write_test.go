package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WantText(t, "write_file", args{"path": "a/b", "content": "é"}, "Wrote 2 bytes to a/b, a new file.")
	p.WantText(t, "write_file", args{"path": "a/b", "content": ""}, "Wrote 0 bytes to a/b.")
	p.WantFile(t, "a/b", "")
	p.WantFailure(t, "write_file", args{"path": "a", "content": "x"}, "a is a directory, not a regular file")
}

// previews checks what the approver of a call is shown.
func (p plugin) previews(t *testing.T, name string, arguments args, want string) {
	t.Helper()
	r, err := p.Preview(t.Context(), p.NewCall(t, name, arguments))
	if err != nil || r.IsError || r.Text() != want {
		t.Errorf("the preview of %s %v = %q, %v; want %q", name, arguments, r.Text(), err, want)
	}
}

func TestPreviewsChangeNothing(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "one\ntwo\n")
	p.previews(t, "write_file", args{"path": "file", "content": "one\n2"}, "--- a/file\n+++ b/file\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n")
	p.previews(t, "write_file", args{"path": "a/new", "content": "x\n"}, "--- /dev/null\n+++ b/a/new\n@@ -0,0 +1 @@\n+x\n")
	p.previews(t, "propose_file_edit", args{"path": "file", "original": "two", "modified": "2", "description": "d"}, "--- a/file\n+++ b/file\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
	p.previews(t, "propose_file_edit", args{"path": "b/new", "original": "", "modified": "x\n", "description": "d"}, "--- /dev/null\n+++ b/b/new\n@@ -0,0 +1 @@\n+x\n")
	p.WantFile(t, "file", "one\ntwo\n")
	if entries, err := os.ReadDir(p.Root); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v", entries, err)
	}
	p.WantFailure(t, "read_buffer", args{}, "this session has not read or written a file yet")
}

func TestPropose(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "one\ntwo\n")
	p.WriteFile(t, "empty", "")
	for _, c := range []struct{ path, original, modified, says, has string }{
		{"file", "two", "2", "Wrote 6 bytes to file.", "one\n2\n"},
		{"file", "one\n2\n", "whole", "Wrote 5 bytes to file.", "whole"},
		{"file", "whole", "", "Wrote 0 bytes to file.", ""},
		{"dir/new", "", "new\n", "Wrote 4 bytes to dir/new, a new file.", "new\n"},
		{"empty", "", "filled", "Wrote 6 bytes to empty.", "filled"},
	} {
		p.WantText(t, "propose_file_edit", args{"path": c.path, "original": c.original, "modified": c.modified, "description": "d"}, c.says)
		p.WantFile(t, c.path, c.has)
	}
}

func TestStaleProposalsAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	const content = "one one\r\ntwo\n"
	p.WriteFile(t, "file", content)
	for _, c := range []struct{ path, original, modified, reason string }{
		{"file", "three", "x", "file does not contain original, nor anything like it: it has changed, or original was not copied exactly"},
		{"file", "one", "x", "file contains original 2 times, in line 1 (include more of the surrounding lines, so that it occurs once)"},
		{"file", "one one\ntwo", "x", "file does not contain original: the line endings differ (CRLF is not LF)"},
		{"file", "", "x", "file exists and is not empty, while original is empty (give the text that is to be replaced)"},
		{"file", "two", "two", "original and modified are the same, so nothing would change in file"},
		{"gone", "x", "y", "there is no file gone"},
	} {
		arguments := args{"path": c.path, "original": c.original, "modified": c.modified, "description": "d"}
		want := "tool propose_file_edit execution failed: " + c.reason
		p.WantFailure(t, "propose_file_edit", arguments, want)
		if r, err := p.Preview(t.Context(), p.NewCall(t, "propose_file_edit", arguments)); err != nil || !r.IsError || r.Text() != want {
			t.Errorf("the preview of %v = %q, %v", arguments, r.Text(), err)
		}
	}
	p.WantFile(t, "file", content)
	// Other errors keep their text.
	p.WantFailure(t, "propose_file_edit", args{"path": ".", "original": "a", "modified": "b", "description": "d"}, "failed: . is a directory")
}

// An approver is asked about a proposal, and by the time of the answer the file is
// another: it must not be applied.
func TestWhatWasPreviewedIsCheckedAgain(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "old")
	arguments := args{"path": "file", "original": "old", "modified": "new", "description": "d"}
	p.previews(t, "propose_file_edit", arguments, "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n")
	p.WriteFile(t, "file", "other")
	p.WantFailure(t, "propose_file_edit", arguments, "file does not contain original")
	p.WantFile(t, "file", "other")
}

func TestOneOfTwoEqualProposalsIsApplied(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "old")
	var mu sync.Mutex
	applied := 0
	var proposers sync.WaitGroup
	for i := range 8 {
		proposers.Go(func() {
			r, err := p.Execute(t.Context(), p.As(fmt.Sprint(i)).NewCall(t, "propose_file_edit", args{"path": "file", "original": "old", "modified": "new", "description": "d"}))
			mu.Lock()
			defer mu.Unlock()
			if err == nil && !r.IsError {
				applied++
			} else if err != nil || !strings.Contains(r.Text(), "file does not contain original") {
				t.Errorf("%v, %v", r.Text(), err)
			}
		})
	}
	proposers.Wait()
	if p.WantFile(t, "file", "new"); applied != 1 {
		t.Errorf("%d were applied", applied)
	}
}
