package host_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// TestTextsForModelsAndPeople checks that a model reads of what it can do, by the name it
// knows, and a person of what an operator can do.
func TestTextsForModelsAndPeople(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithOverrides(map[string]host.Override{"d.rule": {Approval: policy.DenyAll}}))
	dangerous := func(d *tool.Definition) { d.Safety = tool.Dangerous }
	schema := func(d *tool.Definition) {
		d.InputSchema = tool.Schema(`{"type":"object","required":["p"],"properties":{"p":{}}}`)
	}
	failing := pluginsdk.Func("f.ail", "Fails.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("no luck")
	}, pluginsdk.Safe())
	for _, one := range []tool.Tool{
		echo("g.uarded", func(d *tool.Definition) { d.Permission = "fs:write" }), echo("d.anger", dangerous),
		echo("d.rule"), echo("a.rgs", schema), failing,
	} {
		require.NoError(t, h.Register(one))
	}
	no := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Reason: "not today"}, nil
	})
	broken := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{}, errors.New("no terminal")
	})
	for _, c := range []struct {
		name          string
		approver      policy.Approver
		model, person string
	}{
		{"g_uarded", nil, "Permission denied for tool: g_uarded (it needs the capability fs:write, which you were not given", "which the operator grants: WithGrants or Session.Grant"},
		{"g.uarded", nil, "Permission denied for tool: g.uarded (it needs", "which the operator grants: WithGrants"},
		{"d_anger", nil, "tool d_anger is dangerous and needs approval, but the session has no approver (it cannot be approved here", "WithApprover"},
		{"d_anger", no, "Approval denied for tool: d_anger: not today (STOP: Do NOT retry", "the tool did not run"},
		{"d_anger", broken, "Approval failed for tool: d_anger: no terminal (the question was not answered", "see to the approver"},
		{"d_rule", nil, "Approval denied for tool: d_rule: the operator does not allow this tool (do not call it again", "its approval rule is deny"},
		{"a_rgs", nil, "Invalid tool call: missing required argument: p", "see its input schema in Host.Get"},
		{"g_uarde", nil, "Unknown tool: g_uarde (did you mean g_uarded?)", "did you mean g.uarded?"},
		{"g.uarde", nil, "Unknown tool: g.uarde (did you mean g.uarded?)", "did you mean g.uarded?"},
		{"f_ail", nil, "tool f_ail execution failed: no luck", ""},
	} {
		out, _, err := h.Session(host.WithApprover(c.approver)).CallWith(t.Context(), tool.Call{Name: c.name}, host.CallOptions{})
		if out.Success || out.Error.Message != out.Content || !strings.HasPrefix(out.Content, c.model) {
			t.Errorf("%s: a model reads %q, want %q", c.name, out.Content, c.model)
		}
		if operatorsWords.MatchString(out.Content) {
			t.Errorf("%s: a model reads an operator's words: %s", c.name, out.Content)
		}
		switch {
		case err == nil && c.person != "", err != nil && !strings.Contains(err.Error(), c.person):
			t.Errorf("%s: a person reads %v, want %q", c.name, err, c.person)
		case err != nil && strings.Contains(err.Error(), "STOP"):
			t.Errorf("%s: a person reads what only a model has to be told: %v", c.name, err)
		}
	}
}

// operators' words are commands and flags, which a model cannot use.
var operatorsWords = regexp.MustCompile(`toolhost [a-z]|--[a-z]|toolhost\.(yaml|lock)`)

// TestHintsAreForModels checks that no Hint of an error, which models read, names a command
// or a flag. OperatorHint is for those.
func TestHintsAreForModels(t *testing.T) {
	t.Parallel()
	hints := 0
	for _, dir := range []string{".", "../pluginsdk", "../internal"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, hint := range hintsOf(n) {
					hints++
					ast.Inspect(hint, func(n ast.Node) bool {
						if text, ok := n.(*ast.BasicLit); ok && operatorsWords.MatchString(text.Value) {
							t.Errorf("%v: models read the hint %s: put it into OperatorHint", set.Position(text.Pos()), text.Value)
						}
						return true
					})
				}
				return true
			})
			return nil
		}))
	}
	if hints < 40 {
		t.Errorf("only %d hints were found: does the test still read the right folders?", hints)
	}
}

// hintsOf returns the expressions that a node sets the Hint of an error to.
func hintsOf(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Hint" {
			return []ast.Expr{n.Value}
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if field, ok := to.(*ast.SelectorExpr); ok && field.Sel.Name == "Hint" && i < len(n.Rhs) {
				return []ast.Expr{n.Rhs[i]}
			}
		}
	case *ast.CallExpr:
		if called, ok := n.Fun.(*ast.Ident); ok && called.Name == "refuse" && len(n.Args) == 5 {
			return n.Args[4:]
		}
	}
	return nil
}
