package connect

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// starting is a server one of whose plugins never starts. It notes the second question for its tools.
const starting = `while read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  answer() { echo '{"jsonrpc":"2.0","id":'$id',"result":'"$1"'}'; }
  case $line in
  *'"method":"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"method":"tools/list"'*) n=$n. && [ "$n" = .. ] && echo >"$0"
    answer '{"_meta":{"toolhost/starting":true},"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
  *'"id":'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"what?"}}' ;;
  esac
done
`

// The tools that are there are listed, and who is waited for, when others do not come for a while.
func TestToolsOfAServerThatHangs(t *testing.T) {
	t.Parallel()
	args := []string{"-c", strings.Replace(starting, ":true}", `:["slow"]}`, 1), os.DevNull}
	names, waiting, err := Entry{Command: "/bin/sh", Args: args}.Tools(t.Context(), 10*time.Millisecond)
	if !slices.Equal(names, []string{"t"}) || !slices.Equal(waiting.Names, []string{"slow"}) || !waiting.More || err != nil {
		t.Errorf("the tools are %q, it waits for %+v: %v", names, waiting, err)
	}
}

// The tools that are there are listed, though others do not come in time.
func TestToolsOfAServerThatStarts(t *testing.T) {
	t.Parallel()
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, syscall.Mkfifo(again, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), require.Ceiling)
	go func() {
		_, _ = os.ReadFile(again)
		cancel()
	}()
	names, waiting, err := Entry{Command: "/bin/sh", Args: []string{"-c", starting, again}}.Tools(ctx, time.Hour)
	if !slices.Equal(names, []string{"t"}) || !waiting.More || err != nil {
		t.Errorf("the tools are %q, it waits for %+v: %v", names, waiting, err)
	}
}
