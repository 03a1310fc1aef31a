package roster

import (
	"context"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Registry is where the tools of members are published.
type Registry interface {
	// Compile makes entries of the tools, and joins what is wrong with those that it
	// leaves out. It returns nil if nothing that the owner says can be used.
	Compile(ctx context.Context, l Listing) ([]Entry, error)
	// Put makes the entries of each set all that its owner has, in one step for all
	// sets. A name that belongs to another owner, or to an earlier set, is left out and
	// reported, with a [TakenError] as cause. It returns one result for each set.
	Put(sets []Set) []Result
	// Drop removes all that an owner has.
	Drop(owner string)
}

// Listing is what an owner says that it serves.
type Listing struct {
	Owner string
	// Definitions are those of its tools, all of which Handler runs. Preview shows their calls; nil:
	// there are no previews.
	Definitions      []*tool.Definition
	Handler, Preview tool.Handler
	// Source identifies what lists the tools, if its definitions may be compared with those that it
	// listed before; nil: they are compiled again.
	Source any
	// Checked says that the definitions are those of a [checked.Lister].
	Checked bool
	// Recalled says that the tools were checked by an earlier process, and have not
	// changed since: their schemas need not be compiled before a call needs them.
	Recalled bool
	// Plugin is started before a call of one of the tools; nil: the owner is not a plugin.
	Plugin *pluginrun.Plugin
	// Functions says that the tools are functions of a [tool.Set], which cannot be a host.
	Functions bool
	// Own tells the tools of the host's own; nil: there are none.
	Own pluginrun.Own
	// Keeper keeps state for each session; nil: nothing of the owner does.
	Keeper Keeper
	// Settings are the plugin's; nil: the owner is not a plugin.
	Settings *plugin.Settings
	// Given returns the definition for which the operator gave a level, by its key in the book; empty: none
	// yet. Nil: levels are not kept of the owner's tools.
	Given func(key string) (definition string)
	// Changed is called when a call fails because its tool's definition has changed;
	// nil: definitions do not change between listings.
	Changed func()
}

// Keeper keeps state for sessions: a plugin, or an attached provider.
type Keeper interface {
	Name() string
	// Hold keeps it from being stopped for idleness until release is called.
	Hold() (release func())
	// EndSession tells it that no call of a session comes any more. It does not block.
	EndSession(session string)
}

// Entry is a tool that a [Registry] has compiled.
type Entry interface {
	// Name is the tool's name in the registry.
	Name() string
	// ClaimedName is what its owner calls it.
	ClaimedName() string
	// Given returns the tool as its owner defined it, and the level that the operator gave it; unset:
	// none.
	Given() (*tool.Definition, tool.Safety)
}

// Set is all that an owner has.
type Set struct {
	Owner   string
	Entries []Entry
}

// Result is what was published of a [Set].
type Result struct {
	Entries []Entry // those of its owner that are in the registry now
	// Added and Removed are the names, sorted and as the owner calls them, of the tools that it has now and not before, or
	// had before.
	Added, Removed []string
	Err            error // joined: one for each entry that was left out
}

// TakenError is the cause of an error that says that a name belongs to another owner, which
// is a [tool.ErrAlreadyExists].
type TakenError struct {
	Name  string // in the registry
	Owner string // that has it; empty: the embedding program
}

func (e *TakenError) Error() string { return tool.ErrAlreadyExists.Error() }
func (e *TakenError) Unwrap() error { return tool.ErrAlreadyExists }
