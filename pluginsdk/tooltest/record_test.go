package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

func newSet(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	set := require.Must(tool.NewSet(tools...))(t)
	return set
}

type login struct {
	User  string `json:"user"`
	Token string `json:"token" sensitive:"true"`
}

type counted struct {
	N int `json:"n"`
}

// service is a set of tools that answer in each way.
func service(t *testing.T) *tool.Set {
	t.Helper()
	calls := 0
	return newSet(t,
		pluginsdk.Func("login", "Logs in.", func(_ context.Context, in login) (string, error) {
			return "welcome " + in.User + ", who said " + in.Token, nil
		}, pluginsdk.Safe()),
		pluginsdk.Func("count", "Counts its calls.", func(ctx context.Context, in counted) (counted, error) {
			calls++
			tool.Report(ctx, tool.Progress{Done: 1, Total: 2, Message: "half"})
			return counted{calls + in.N}, nil
		}, pluginsdk.Safe(), pluginsdk.Preview(func(_ context.Context, in counted) (tool.Result, error) {
			return tool.Text(fmt.Sprint("would count to ", in.N)), nil
		})),
		pluginsdk.Func("fail", "Fails.", func(_ context.Context, in counted) (string, error) {
			if in.N > 0 {
				return "", &tool.Error{Code: tool.CodeRateLimited, Message: "slow down", Hint: "wait a minute"}
			}
			return "", errors.New("no")
		}, pluginsdk.Safe()),
	)
}

func request(name, args string) tool.Call {
	return tool.Call{Name: name, Arguments: json.RawMessage(args)}
}

// What is replayed is what was recorded: definitions, results, errors with their codes, progress
// and previews; and what was not is an error that says what is.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sub", "service.json")
	recorder := tooltest.Record(service(t), file)
	defs := require.Must(recorder.List(t.Context()))(t)
	calls := []tool.Call{
		request("login", `{"user":"ann","token":"s3cret"}`), request("count", `{"n":10}`), request("count", `{"n":10}`),
		request("fail", `{"n":0}`), request("fail", `{"n":1}`), request("fail", `{"n":0}`),
	}
	type end struct {
		res      tool.Result
		err      string
		code     tool.Code
		progress []tool.Progress
	}
	run := func(p tool.Provider) (ends []end) {
		for _, c := range calls {
			var e end
			ctx := tool.WithProgress(t.Context(), func(p tool.Progress) { e.progress = append(e.progress, p) })
			res, err := p.Execute(ctx, c)
			e.res, e.err, e.code = res, fmt.Sprint(err), tool.CodeOf(err)
			ends = append(ends, e)
		}
		return ends
	}
	want := run(recorder)
	previewed := require.Must(recorder.(tool.Previewer).Preview(t.Context(), request("count", `{"n":3}`)))(t)
	if _, err := recorder.Execute(t.Context(), request("none", `{}`)); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("an unknown tool: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = recorder.Execute(gone, request("count", `{"n":99}`))
	for range 2 {
		require.NoError(t, recorder.Close(t.Context()))
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "none") || strings.Contains(string(text), "99") {
		t.Fatalf("%v\n%s", err, text)
	}

	p := require.Must(tooltest.Replay(file))(t)
	if again, err := p.List(t.Context()); err != nil || !reflect.DeepEqual(again, defs) {
		t.Errorf("the definitions: %v\n%+v\n%+v", err, again, defs)
	}
	want[0].res = tool.Text("welcome ann, who said [redacted]")
	calls[0] = request("login", `{ "token": "another", "user": "ann" }`)
	calls[1] = request("count", `{"n":1e1}`)
	got := run(p)
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s: replayed\n%+v, recorded\n%+v", calls[i].Name, got[i], want[i])
		}
	}
	if got[1].res.Text() != `{"n":11}` || got[2].res.Text() != `{"n":12}` {
		t.Errorf("two calls: %s, %s", got[1].res.Text(), got[2].res.Text())
	}
	if res, _ := p.Execute(t.Context(), calls[2]); res.Text() != `{"n":12}` {
		t.Errorf("a third call: %s", res.Text())
	}
	if res, err := p.(tool.Previewer).Preview(t.Context(), request("count", `{"n":3}`)); err != nil || !reflect.DeepEqual(res, previewed) {
		t.Errorf("the preview: %+v, %v", res, err)
	}
	for name, want := range map[string]string{
		"fail":  `has no call of fail {"n":7}: recorded are {"n":0}, {"n":1} (record it with tooltest.Record)`,
		"login": `has no call of login {"n":7}: recorded are {"token":"[redacted]","user":"ann"}`,
	} {
		if _, err := p.Execute(t.Context(), request(name, `{"n":7}`)); tool.CodeOf(err) != tool.CodeUnsupported || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := p.(tool.Previewer).Preview(t.Context(), request("fail", `{}`)); err == nil || !strings.Contains(err.Error(), "no call of preview of fail {}: none is") {
		t.Errorf("a preview that was not recorded: %v", err)
	}
}

// A recorded provider keeps the contract of providers.
func TestReplayKeepsTheContract(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "service.json")
	recorder := tooltest.Record(service(t), file)
	call := request("count", `{"n":1}`)
	require.Must(recorder.Execute(t.Context(), call))(t)
	require.NoError(t, recorder.Close(t.Context()))
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		p := require.Must(tooltest.Replay(file))(t)
		return p
	}, call)
}

// A provider that is recorded keeps the contract too, and all content comes back.
func TestRecordKeepsTheContract(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		return tooltest.Record(newSet(t, fixture.Tools()...), filepath.Join(t.TempDir(), "fixture.json"))
	})
	file := filepath.Join(t.TempDir(), "content.json")
	recorder := tooltest.Record(newSet(t, fixture.Tools()...), file)
	require.Must(recorder.Execute(t.Context(), request(fixture.ContentTool, "")))(t)
	require.NoError(t, recorder.Close(t.Context()))
	p := require.Must(tooltest.Replay(file))(t)
	for range 2 {
		got, err := p.Execute(t.Context(), request(fixture.ContentTool, "{}"))
		if err != nil || !reflect.DeepEqual(got, fixture.Content()) {
			t.Errorf("%v\n%#v\nwant\n%#v", err, got, fixture.Content())
		}
		for _, c := range got.Content { // it is the caller's
			if image, ok := c.(tool.ImageContent); ok {
				clear(image.Data)
			}
		}
		clear(got.Structured)
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                        "is not a recording",
		`{"tools":[{"name":"a"}]}`: "description",
		`{"calls":[{"tool":"a"}]}`: "call 1, of a, must have either a result or an error",
		`{"calls":[{"tool":"a","result":{"content":[{"type":"x"}]}}]}`: "is not a recording",
	} {
		file := filepath.Join(t.TempDir(), "r.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		if _, err := tooltest.Replay(file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := tooltest.Replay(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
