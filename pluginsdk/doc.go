// Package pluginsdk is all that an author of a tool plugin imports.
//
// [Func] makes a tool of a Go function and reads its schemas off the types;
// [Main] makes a whole plugin of tools:
//
//	func main() { pluginsdk.Main(pluginsdk.Func("hello", "Greets somebody.", hello, pluginsdk.Safe())) }
//
// What a tool may say of itself (its safety, the capability that it needs, how
// often it may be called) are the [Option] values. [Plugin] adds a name, a
// version and configuration.
package pluginsdk

// Version is the SDK's version, which a plugin reports to its host.
const Version = "0.1.0"
