// Command bare is a plugin of go-plugin and nothing else.
package main

import "github.com/toolhost/toolhost/bench/internal/bare"

func main() { bare.Serve() }
