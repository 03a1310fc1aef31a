package policy

// Rule says which calls of a tool need approval.
type Rule string

// The rules.
const (
	BySafety Rule = ""      // calls of dangerous tools
	Ask      Rule = "ask"   // all calls
	AllowAll Rule = "allow" // no calls: the operator approves all of them in advance
	DenyAll  Rule = "deny"  // no calls: the operator denies all of them
)

// Operator is the value of ApprovedBy in audit records if [AllowAll] or
// [DenyAll] decided.
const Operator = "operator"
