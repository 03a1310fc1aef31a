package host_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func ExampleNew() {
	ctx := context.Background()
	h, err := host.New()
	if err != nil {
		log.Fatal(err)
	}

	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	err = h.Register(pluginsdk.Func("add", "Adds two numbers.", func(_ context.Context, s sum) (int, error) {
		return s.A + s.B, nil
	}, pluginsdk.Safe(), pluginsdk.Permission("math")))
	if err != nil {
		log.Fatal(err)
	}

	call := tool.Call{ID: "1", Name: "add", Arguments: []byte(`{"a": 2, "b": 3}`)}
	s := h.Session(host.WithGrants("math"))
	fmt.Println(s.Call(ctx, call).Content)
	s.Revoke("math")
	fmt.Println(s.Call(ctx, call).Error.Code)
	_, err = s.Execute(ctx, tool.Call{Name: "ad"})
	fmt.Println(err)
	if err := h.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 5
	// permission_denied
	// Unknown tool: ad (did you mean add?)
}

// greet is the tool of the examples' plugin.
func greet() tool.Tool {
	type person struct {
		Name string `json:"name"`
	}
	return pluginsdk.Func("greet", "Greets a person.", func(_ context.Context, p person) (string, error) {
		return "hello " + p.Name, nil
	}, pluginsdk.Safe())
}

// examplePlugins are the main functions of plugins, by the names of their binaries. The
// test's binary is linked under such a name to be one; see TestMain.
var examplePlugins = map[plugintest.Mode]func(){"greeter": func() { pluginsdk.Main(greet()) }}

// installGreeter puts the binary greeter into a plugin directory.
func installGreeter(dir string) {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Link(self, filepath.Join(dir, "greeter")); err != nil {
		log.Fatal(err)
	}
}

// pluginDir makes a plugin directory next to the test's binary.
func pluginDir() (dir string, remove func()) {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	if dir, err = os.MkdirTemp(filepath.Dir(self), "plugins-"); err != nil {
		log.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// exampleHost is a host with a tool that is safe and one that is dangerous.
func exampleHost(opts ...host.Option) *host.Host {
	h, err := host.New(opts...)
	if err != nil {
		log.Fatal(err)
	}
	type file struct {
		Path string `json:"path"`
	}
	remove := pluginsdk.Func("remove", "Removes a file.", func(_ context.Context, f file) (string, error) {
		return "removed " + f.Path, nil
	}, pluginsdk.Dangerous(), pluginsdk.Permission(tool.FSWrite))
	if err := errors.Join(h.Register(greet()), h.Register(remove)); err != nil {
		log.Fatal(err)
	}
	return h
}

// Load starts the plugin binaries of a directory. Each runs in a process of its own: if
// one crashes, its callers get an error, and the next call starts it again.
func ExampleHost_Load() {
	ctx := context.Background()
	h, err := host.New()
	if err != nil {
		log.Fatal(err)
	}
	dir, remove := pluginDir()
	defer remove()
	installGreeter(dir)
	defer h.Close(ctx) //nolint:errcheck // the example has ended
	n, err := h.Load(ctx, dir)
	fmt.Println(n, err)
	for _, p := range h.Plugins() {
		fmt.Println(p.Name, p.State, p.Tools)
	}
	out := h.Call(ctx, tool.Call{Name: "greet", Arguments: []byte(`{"name": "Ada"}`)})
	fmt.Println(out.Content, "from", out.Metadata.Plugin)
	// Output:
	// 1 <nil>
	// greeter ready 1
	// hello Ada from greeter
}

// Follow loads, upgrades and withdraws plugins as their files come, change and go.
func ExampleHost_Follow() {
	h, err := host.New()
	if err != nil {
		log.Fatal(err)
	}
	dir, remove := pluginDir()
	defer remove()
	ctx, cancel := context.WithCancel(context.Background())
	defer h.Close(context.Background()) //nolint:errcheck // the example has ended
	followed := make(chan error)
	go func() { followed <- h.Follow(ctx, dir) }()

	installGreeter(dir)
	for range time.Tick(10 * time.Millisecond) {
		if _, loaded := h.Get("greet"); loaded {
			break
		}
	}
	fmt.Println(h.Call(ctx, tool.Call{Name: "greet", Arguments: []byte(`{"name": "Ada"}`)}).Content)
	cancel()
	fmt.Println(<-followed)
	// Output:
	// hello Ada
	// <nil>
}

// A session has the capabilities that it is granted, and no others.
func ExampleWithGrants() {
	h := exampleHost()
	ctx := context.Background()
	call := tool.Call{Name: "remove", Arguments: []byte(`{"path": "old.txt"}`)}
	fmt.Println(h.Session().Call(ctx, call).Error.Code)

	s := h.Session(host.WithGrants(tool.FSWrite))
	fmt.Println(s.Call(ctx, call).Error.Code)
	// Output:
	// permission_denied
	// approval_required
}

// An approver decides about each dangerous call. It can deny it with a reason, or change
// its arguments.
func ExampleWithApprover() {
	h := exampleHost()
	ctx := context.Background()
	approver := policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
		if string(r.Call.Arguments) == `{"path":"/etc"}` {
			return policy.Decision{Verdict: policy.Deny, Reason: "not there"}, nil
		}
		return policy.Decision{Verdict: policy.Allow}, nil
	})
	s := h.Session(host.WithGrants(tool.FSWrite), host.WithApprover(approver))
	for _, path := range []string{"old.txt", "/etc"} {
		args := fmt.Appendf(nil, `{"path":%q}`, path)
		out := s.Call(ctx, tool.Call{Name: "remove", Arguments: args})
		fmt.Println(out.Success, out.Content)
	}
	// Output:
	// true removed old.txt
	// false Approval denied for tool: remove: not there (STOP: Do NOT retry; ask what is wanted instead)
}

// Hooks observe calls, after the fact: they cannot delay or change them.
func ExampleWithHooks() {
	h := exampleHost(host.WithHooks(policy.Hooks{
		After: func(e policy.Event) { fmt.Println(e.Call.Name, "ended:", e.Result.Text()) },
		Error: func(e policy.Event) { fmt.Println(e.Call.Name, "failed:", tool.CodeOf(e.Err)) },
	}))
	ctx := context.Background()
	h.Call(ctx, tool.Call{Name: "greet", Arguments: []byte(`{"name": "Ada"}`)})
	h.Call(ctx, tool.Call{Name: "remove", Arguments: []byte(`{"path": "old.txt"}`)})
	if err := h.Close(ctx); err != nil { // it waits for the hooks
		log.Fatal(err)
	}
	// Output:
	// greet ended: hello Ada
	// remove failed: permission_denied
}

// A host, or a session of one, is a provider too, so another host can serve its tools.
func ExampleHost_Attach() {
	inner := exampleHost()
	outer, err := host.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	n, err := outer.Attach(ctx, "inner", inner.Session())
	fmt.Println(n, err)
	out := outer.Call(ctx, tool.Call{Name: "greet", Arguments: []byte(`{"name": "Ada"}`)})
	fmt.Println(out.Content, "from", out.Metadata.Plugin)
	// Output:
	// 2 <nil>
	// hello Ada from inner
}
