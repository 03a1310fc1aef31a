// Package pluginsdk is for authors of tool plugins.
//
// [Func] makes a tool from a Go function and infers its schemas from the function's
// types. [Main] serves tools as a plugin:
//
//	func main() {
//		pluginsdk.Main(pluginsdk.Func("hello", "Greets a person.", hello, pluginsdk.Safe()))
//	}
//
// An [Option] sets a property of a tool, such as its safety level, the capability that
// its callers need or a rate limit. A [Plugin] also has a name, a version and
// configuration. Package tool has the types that tools, plugins and hosts share.
package pluginsdk

// Version is the version of the SDK. A plugin reports it to its host.
const Version = "0.1.0"
