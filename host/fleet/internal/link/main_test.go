package link_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// TestMain checks that the tests leave no goroutine of a link or of a subscription behind.
func TestMain(m *testing.M) {
	code := m.Run()
	end := time.Now().Add(10 * time.Second)
	for code == 0 {
		stacks := make([]byte, 4<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !bytes.Contains(stacks, []byte("internal/link.(*")) && !bytes.Contains(stacks, []byte("waitForMsgs")) {
			break
		}
		if time.Now().After(end) {
			fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", stacks)
			code = 1
		}
		time.Sleep(10 * time.Millisecond)
	}
	os.Exit(code)
}
