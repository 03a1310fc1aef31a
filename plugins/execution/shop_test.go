package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

// shop is a module with a package at its root, a program, an internal package and
// one that does not compile.
var shop = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.25\n",
	"shop.go": `package shop

import (
	"fmt"
	str "strings"
)

type item struct {
	Name  string
	price int
}

var stock = []item{{"tea", 3}, {"milk", 2}}

func total(items []item) (sum int, err error) {
	for _, i := range items {
		sum += i.price
	}
	return sum, nil
}

func (i item) String() string { return fmt.Sprintf("%s at %d", str.ToUpper(i.Name), i.price) }
`,
	"cmd/till/main.go":             "package main\n\nimport \"os\"\n\nvar opened = true\n\nfunc main() { os.Exit(9) }\n",
	"internal/deep/deep.go":        "package deep\n\nconst Depth = 3\n\nfunc hidden() int { return Depth }\n",
	"a/same/same.go":               "package same\n",
	"b/same/same.go":               "package same\n",
	"broken/broken.go":             "package broken\n\nfunc f() int { return \"no\" }\n",
	"broken/worse/worse.go":        "package worse\n\nvar V missing\n",
	"empty/readme.txt":             "nothing\n",
	"internal/old/old.go":          "package old\n\nimport \"text/template\"\n\nvar T = template.New(\"\")\n",
	"internal/old/other_test.go":   "package old\n\nvar onlyInTests = 1\n",
	"internal/deep/deep_plan9.go":  "package deep\n\nvar plan9 = true\n",
	"internal/deep/testdata/x.txt": "x\n",
}

var shared struct {
	once   sync.Once
	dir    string
	plugin plugin
	// sessions counts the tests, as one may run several times.
	sessions atomic.Int64
}

// sharedShop returns the shop for tests that do not change files: they share what was
// loaded, and each has its own session.
func sharedShop(t testing.TB) plugin {
	t.Helper()
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "shop")
		require.NoError(t, err)
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			t.Fatal(err)
		}
		shared.dir = dir
		for name, content := range shop {
			workspacetest.WriteFile(t, filepath.Join(dir, name), content)
		}
		shared.plugin = open(t, dir, "")
	})
	if shared.plugin.Set == nil {
		t.Fatal("the shared workspace could not be made")
	}
	p := shared.plugin
	p.Session = fmt.Sprint(t.Name(), shared.sessions.Add(1))
	return p
}
