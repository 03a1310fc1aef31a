package config

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Caller is what the operator decides about a caller. The zero value holds no capability,
// sees all tools, and is asked.
type Caller struct {
	// UID is the user of the system who is this caller. Default: nil, none.
	UID *int `json:"uid,omitempty"`
	// Subject is who the caller is by the tokens of the issuer. Default: empty, none of them.
	Subject string `json:"subject,omitempty"`
	// Grants are the capabilities that the caller holds. Default: none.
	Grants []tool.Capability `json:"grants,omitempty"`
	// Tools are the tools that it sees and may call. Default: all.
	Tools Visible `json:"tools"`
	// Rate bounds its calls of all tools together. Default: no calls, which bounds nothing.
	Rate tool.RateLimit `json:"rate"`
	// MaxCalls is how many calls it may have in progress. Default: 0, any number.
	MaxCalls int `json:"max_calls"`
	// Approval decides on its calls that need approval. Default: [AnswerAsk].
	Approval Answer `json:"approval,omitempty"`
	// Ask is who is asked about its calls. Default: none, those of [Approvals].
	Ask []Asker `json:"ask,omitempty"`
	// Names are those of the tools for its MCP clients. Default: [NamesAlias].
	Names Names `json:"names,omitempty"`
	// Discovery is how it finds tools. Default: [host.DiscoveryList].
	Discovery host.Discovery `json:"discovery,omitempty"`
	// ResultLimit cuts the text of results to this many characters. Default: 0, which cuts
	// nothing.
	ResultLimit int `json:"result_limit"`
}

// Visible chooses tools by the names that callers see. In a pattern, * stands for any
// characters.
type Visible struct {
	// Allow are patterns of names that are seen. Default: all.
	Allow []string `json:"allow,omitempty"`
	// Deny are patterns of names that are not seen although they are allowed. Default: none.
	Deny []string `json:"deny,omitempty"`
	// MaxSafety hides tools above a level, as the operator has set it. Default:
	// [tool.Unset], which hides no tool.
	MaxSafety tool.Safety `json:"max_safety,omitempty"`
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
	matches := func(pattern string) bool { return match(pattern, name) }
	return (v.MaxSafety == tool.Unset || safety.Effective() <= v.MaxSafety) &&
		(len(v.Allow) == 0 || slices.ContainsFunc(v.Allow, matches)) && !slices.ContainsFunc(v.Deny, matches)
}

// match reports whether a name matches a pattern in which * stands for any characters. It
// finds each part between two stars at the first opportunity, so the work is bounded by the
// product of the lengths.
func match(pattern, name string) bool {
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
