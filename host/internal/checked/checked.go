// Package checked has definitions whose schemas are known to compile. A provider of this module that
// checks what it lists implements [Lister]: the registry keeps its definitions as they are, and
// compiles a schema again when the tool is first called.
package checked

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Definition is one that passed [tool.Definition.Check] and whose schemas compile. It never changes.
type Definition struct{ def tool.Definition }

// Lister is a provider whose definitions are checked when it gets them. One that has not changed is
// listed by the same pointer. Only this module can name the type, so no other provider can claim it.
type Lister interface {
	// ListChecked is List. The definitions are sorted by name, and are not to be changed.
	ListChecked(context.Context) ([]*Definition, error)
}

// New checks a definition, which the caller does not change any more.
//
// # Errors
//
// Those of [tool.Definition.Check] and [Compile].
func New(d tool.Definition, budget *schema.Budget) (*Definition, error) {
	d.Alias = ""
	if err := d.Check(); err != nil {
		return nil, err
	}
	if _, _, err := Compile(&d, budget); err != nil {
		return nil, tool.Errorf(tool.CodeInvalidDefinition, "tool %q: %w", d.Name, err)
	}
	return &Definition{d}, nil
}

// Get returns the definition, which must not be changed.
func (d *Definition) Get() *tool.Definition { return &d.def }

// As returns the definition under another name, which the registry checks.
func (d *Definition) As(name string) *Definition {
	if name == d.def.Name {
		return d
	}
	out := *d
	out.def.Name = name
	return &out
}

// Within returns the definition with another limit of time for its calls.
func (d *Definition) Within(limit time.Duration) *Definition {
	out := *d
	out.def.Timeout = tool.Duration(limit)
	return &out
}

// Compile compiles the schemas of a definition. The output is nil if it has none.
//
// # Errors
//
// One that says which schema is wrong, and why; it wraps [schema.ErrBudget] if the budget is used up.
func Compile(d *tool.Definition, budget *schema.Budget) (input, output *schema.Schema, err error) {
	if input, err = budget.CompileInput(d.InputSchema); err != nil {
		return nil, nil, fmt.Errorf("input schema: %w", err)
	}
	if len(d.OutputSchema) > 0 {
		if output, err = budget.CompileOutput(d.OutputSchema); err != nil {
			return nil, nil, fmt.Errorf("output schema: %w", err)
		}
	}
	return input, output, nil
}
