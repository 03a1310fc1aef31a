// Package callstage names the stages of a call, for the Stage of a tool.Error.
package callstage

// The stages. Plugins, hosts of a fleet and audit logs know them by these texts.
const (
	Register  = "register"    // registering the tool, before any call
	Resolve   = "resolve"     // finding the tool by name
	Validate  = "validate"    // checking the arguments against the schema
	Authorize = "authorize"   // checking the caller's capabilities
	RateLimit = "ratelimit"   // checking the rate limit
	Approve   = "approve"     // asking for approval
	Audit     = "audit"       // writing the call to the audit log
	Limit     = "concurrency" // waiting for other calls to end
	Output    = "output"      // checking the result
	Start     = "start"       // starting the plugin
	Execute   = "execute"     // running the tool
)
