package errorcode_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Each code that Go programs have has one row, which says what it means.
func TestEachCodeHasARow(t *testing.T) {
	t.Parallel()
	text := require.Must(os.ReadFile("../../pluginsdk/tool/error.go"))(t)
	rows := map[tool.Code]int{}
	for _, r := range errorcode.Table {
		if rows[r.Code]++; r.Meaning == "" || r.Exit == 0 {
			t.Errorf("%s: %+v", r.Code, r)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\sCode\w+\s+Code\s+= "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		if rows[tool.Code(m[1])] != 1 {
			t.Errorf("%s has %d rows", m[1], rows[tool.Code(m[1])])
		}
		delete(rows, tool.Code(m[1]))
	}
	if len(rows) > 0 || errorcode.Known("") || errorcode.Known("of_tomorrow") {
		t.Errorf("rows of codes that do not exist: %v", rows)
	}
}
