// Package control is how commands talk to a running daemon: the API of proto/toolhost/daemon/v1 over a
// Unix socket. It contains both ends. A daemon begins with [Take] and [NewServer], a command with [Dial],
// and one without a daemon with [Alone]: its requests are calls of the handlers.
//
// The API is Connect's, over HTTP/1.1: commands send protobuf, and curl and web pages may send JSON. A
// new call is three edits: in the contract, a method of the [Daemon], and [Do] in a command. Structs of Go
// and messages are converted by the names of their fields in JSON. An error has a Fault of the contract
// as its detail. Besides, there are /metrics for Prometheus and profiles at /debug/pprof/.
//
// The system decides who may connect: the directory and the socket belong to one user and are
// closed to others, and each end asks the kernel who is at the other. A process of the same
// user can do everything that a command can.
package control
