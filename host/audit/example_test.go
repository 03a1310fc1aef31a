package audit_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func Example() {
	if err := example(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 fs.read permission_denied
	// whole: true up to line 2
}

func example() error {
	dir, err := os.MkdirTemp("", "audit-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "audit.jsonl")
	f, err := audit.Open(path, audit.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, code := range []tool.Code{"", tool.CodePermissionDenied} {
		if err := f.Write(audit.Record{Event: audit.End, Tool: "fs.read", Code: code}); err != nil {
			return err
		}
	}

	for e, err := range audit.Search(context.Background(), path, audit.Filter{Code: tool.CodePermissionDenied}) {
		if err != nil {
			return err
		}
		fmt.Println(e.Seq, e.Tool, e.Code)
	}
	report, err := audit.Verify(context.Background(), path)
	fmt.Println("whole:", report.Break == nil, "up to line", report.UpTo.Seq)
	return err
}
