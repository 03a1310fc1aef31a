package config

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Caller is what you decide about one caller.
//
// The zero value holds no capability, sees all tools, and is asked.
type Caller struct {
	// UID is the user of the system who is this caller on the daemon's socket, by number. The socket is then open to
	// other users, and the daemon closes the connections of those who are not named. Default: none; cli is the
	// daemon's own user.
	UID *int `json:"uid,omitempty" minimum:"0" maximum:"4294967294" example:"1001"`
	// Subject is who the caller is by the tokens of the issuer in mcp.oidc: the value of their claim (mcp.oidc.claim,
	// sub by default). Default: none. A token of toolhost tokens new NAME needs nothing here: NAME is the caller.
	Subject string `json:"subject,omitempty" is:"identity" example:"auth0|5f7c8ec7c33c6c004bbafe82"`
	// Grants are the capabilities that the caller holds, such as fs:read. Default: none.
	Grants []tool.Capability `json:"grants,omitempty" is:"capability" example:"fs:read"`
	// Tools are the tools that the caller sees and may call. Default: all.
	Tools Visible `json:"tools"`
	// Rate bounds the caller's calls of all tools together, in addition to the limits of tools: a number of calls, a
	// slash and a period of up to 24h, such as 100/1m.
	Rate tool.RateLimit `json:"rate" example:"100/1m"`
	// MaxCalls is how many calls the caller may have in progress at a time, those that wait for approval included, 1
	// to 65536, or unlimited.
	MaxCalls int `json:"max_calls" minimum:"1" maximum:"65536" words:"unlimited=0" example:"8"`
	// Approval is what decides on its calls that need approval: ask asks those that ask names, and refuses if none of
	// them can be asked; yes and no are your own answer to all of them. Quote yes and no if your editor takes them for
	// true and false.
	Approval Answer `json:"approval,omitempty" enum:"ask,yes,no" default:"ask"`
	// Ask names those who are asked about its calls, as in approvals.ask. Default: as approvals.ask says.
	Ask []Asker `json:"ask,omitempty" is:"asker" example:"client,queue"`
	// Names are the names of tools that its MCP clients get: alias gives those that every model takes, such as
	// fs_read, and canonical the tools' own, such as fs.read. Calls take both.
	Names Names `json:"names,omitempty" enum:"alias,canonical" default:"alias" example:"canonical"`
	// Discovery is how its MCP clients and programs find tools: list shows them all; search shows tools.search,
	// which finds tools by words, tools.call, which calls them, and tools.read, which calls safe ones only, for more
	// tools than a model should see at once. Commands list all in either case.
	Discovery string `json:"discovery,omitempty" enum:"list,search" default:"list" example:"search"`
	// ResultLimit cuts the text of results to this many characters; 0 cuts nothing.
	ResultLimit int `json:"result_limit" minimum:"0" maximum:"1073741824" example:"20000"`
}

// Visible chooses tools by the names that callers see. In a pattern, * stands for any
// characters.
type Visible struct {
	// Allow are names of tools, as callers see them, that are seen. * stands for any characters. Default: all.
	Allow []string `json:"allow,omitempty" is:"tools" minItems:"1" title:"at least one name; remove the key to allow all, or set deny: [\"*\"] to allow none" example:"fs.*"`
	// Deny are names of tools that are not seen although they are allowed. Default: none.
	Deny []string `json:"deny,omitempty" is:"tools" example:"*.delete"`
	// MaxSafety hides tools above this level: safe, cautious or dangerous. Default: no tool is hidden.
	MaxSafety tool.Safety `json:"max_safety,omitempty" example:"cautious"`
}

// Answer decides on a caller's calls that need approval.
type Answer string

// The choices for a caller.
const (
	AnswerAsk Answer = "ask" // ask those that Ask names; if none of them can be asked, refuse
	AnswerYes Answer = "yes" // the operator approves all of them
	AnswerNo  Answer = "no"  // the operator refuses all of them
)

// Names says which names of tools a caller's MCP clients get. Calls take both.
type Names string

// The choices for names.
const (
	NamesAlias     Names = "alias"     // such as fs_read, which every model takes
	NamesCanonical Names = "canonical" // the tools' own, such as fs.read
)

// Sees reports whether the caller sees a tool, by the name and level that callers are shown.
// A level that is not set counts as dangerous.
func (c Caller) Sees(name string, safety tool.Safety) bool {
	v := c.Tools
	matches := func(pattern string) bool { return Match(pattern, name) }
	return (v.MaxSafety == tool.Unset || safety.Effective() <= v.MaxSafety) &&
		(len(v.Allow) == 0 || slices.ContainsFunc(v.Allow, matches)) && !slices.ContainsFunc(v.Deny, matches)
}

// Match reports whether a name matches a pattern in which * stands for any characters. It
// finds each part between two stars at the first opportunity, so the work is bounded by the
// product of the lengths.
func Match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
