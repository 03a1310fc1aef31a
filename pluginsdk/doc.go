// Package pluginsdk is for authors of tool plugins.
//
// [Func] makes a tool from a Go function and infers its schemas from the types.
// [Main] serves tools as a plugin:
//
//	func main() { pluginsdk.Main(pluginsdk.Func("hello", "Greets somebody.", hello, pluginsdk.Safe())) }
//
// [Option] values set a tool's safety, the capability that it needs and how often it may
// be called. [Plugin] adds a name, a version and configuration.
package pluginsdk

// Version is the SDK's version, which a plugin reports to its host.
const Version = "0.1.0"
