package policy

// Rule says which calls of a tool need somebody's yes.
type Rule string

// The rules.
const (
	BySafety Rule = ""      // those of a dangerous tool
	Ask      Rule = "ask"   // all
	AllowAll Rule = "allow" // none: the operator has said yes in advance
	DenyAll  Rule = "deny"  // all, and the answer is no
)

// Operator is who decided where the rule is [AllowAll] or [DenyAll], for the
// record.
const Operator = "operator"
