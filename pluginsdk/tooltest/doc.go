// Package tooltest is a test suite for implementations of [tool.Provider]: functions, a
// plugin's process, a host or a session.
//
// Start with [Run]. The provider under test serves the tools of [Fixture]. A test binary
// can serve them as a plugin:
//
//	func TestMain(m *testing.M) {
//		if os.Getenv("BE_THE_FIXTURE") != "" {
//			pluginsdk.Main(tooltest.Fixture()...)
//		}
//		os.Exit(m.Run())
//	}
package tooltest
