// Package tooltest is one suite of tests that every [tool.Provider] passes,
// whatever stands behind it: functions, a plugin's process, a host, a session.
//
// Start with [Run]. The provider under test serves the tools of [Fixture]; a
// test binary can be such a plugin itself:
//
//	func TestMain(m *testing.M) {
//		if os.Getenv("BE_THE_FIXTURE") != "" {
//			pluginsdk.Main(tooltest.Fixture()...)
//		}
//		os.Exit(m.Run())
//	}
package tooltest
