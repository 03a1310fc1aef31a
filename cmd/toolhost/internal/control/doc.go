// Package control is how the commands talk to a running daemon: HTTP with JSON over
// a Unix socket that is private to its user. It has both ends. A daemon begins with
// [Take] and [NewServer], a command with [Dial].
//
//	GET    /v1/state                    what the daemon is, and what its plugins do
//	GET    /v1/tools                    ?max_safety= &category= &search=, or &name=
//	POST   /v1/call                     ?name= &grant= &timeout= &yes= &ask=; the body is the arguments
//	DELETE /v1/calls/{id}               end a call
//	GET    /v1/calls/{id}/preview       what a call that waits for a yes would do
//	POST   /v1/calls/{id}/approval      {"verdict": allow, deny or modify, "reason", "arguments"}
//	POST   /v1/plugins/{name}/restart
//	POST   /v1/reload
//
// A call is answered with lines of JSON: begin with the call's address, approval
// where somebody has to say yes, part for each piece of the result, and end. A preview is
// answered with the last two. Who closes the connection ends the call.
// Everything else is answered with one JSON value; where the status is not 200, that
// is {"error": ...} as [tool.Error] has it.
//
// Who may speak is decided by the system: the directory and the socket belong to one
// user and are closed to others, and each end asks the kernel who is at the other. A
// process of the same user can do all that a command can.
package control
