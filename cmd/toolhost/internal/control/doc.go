// Package control is how commands talk to a running daemon: HTTP with JSON over a Unix socket
// that is private to its user. It contains both ends. A daemon begins with [Take] and
// [NewServer], a command with [Dial].
//
//	GET    /v1/state                    the daemon and the state of its plugins
//	GET    /v1/tools                    ?max_safety= &category= &search=, or &name=
//	POST   /v1/call                     ?name= &grant= &timeout= &yes= &ask=; the body is the arguments
//	DELETE /v1/calls/{id}               end a call
//	GET    /v1/calls/{id}/preview       what a call that waits for approval would do
//	POST   /v1/calls/{id}/approval      {"verdict": allow, deny, modify or fail, "reason", "arguments"}
//	GET    /v1/approvals                ?follow=true; the questions to the operator that wait
//	POST   /v1/approvals                put a question, and wait for the answer
//	GET    /v1/approvals/{id}           a question with its preview
//	POST   /v1/approvals/{id}           {"verdict": allow or deny, "reason"}
//	POST   /v1/plugins/{name}/restart
//	POST   /v1/plugins/{name}/sync      apply what the operator has said of a plugin
//	GET    /v1/plugins/{name}/logs      ?follow=true; the newest output of a plugin, a line each
//	POST   /v1/reload
//	POST   /v1/stop
//	GET    /metrics                     numbers for Prometheus
//	GET    /debug/pprof/                profiles of the daemon
//
// The answer to a call is lines of JSON: begin with the call's address, approval if a person
// has to approve the call, part for each piece of the result, and end. The answer to a preview
// is the last two. Closing the connection ends the call. Every other answer is one JSON value;
// if the status is not 200, it is {"error": ...}, a [tool.Error].
//
// The system decides who may connect: the directory and the socket belong to one user and are
// closed to others, and each end asks the kernel who is at the other. A process of the same
// user can do everything that a command can.
package control
