// Package tooltest tests tools and what calls them, without a host: a suite for implementations of
// [tool.Provider] (functions, a plugin's process, a host or a session), calls of single tools,
// golden definitions, and recorded plugins.
//
// Start with [Run], which takes any provider, such as a [tool.Set] of a plugin's tools:
//
//	func TestTools(t *testing.T) {
//		tooltest.Run(t, func(t *testing.T) tool.Provider {
//			set, err := tool.NewSet(tools()...)
//			if err != nil {
//				t.Fatal(err)
//			}
//			return set
//		})
//	}
//
// [Call] calls a single tool as a host does. [Golden] compares the definitions with a file, so that
// they change only on purpose. [Record] and [Replay] answer the calls of an agent's tests from a file.
package tooltest
