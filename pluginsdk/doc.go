// Package pluginsdk is for authors of tool plugins.
//
// # A plugin
//
// [Func] makes a tool from a Go function and infers its schemas from the function's types. [Main]
// serves tools as a plugin:
//
//	type args struct {
//		Name string `json:"name" jsonschema:"whom to greet"`
//		Tone string `json:"tone" enum:"warm,formal" default:"warm"`
//	}
//
//	func greet(ctx context.Context, in args) (string, error) { return "hello " + in.Name, nil }
//
//	func main() {
//		pluginsdk.Main(pluginsdk.Func("greet", "Greets a person.", greet, pluginsdk.Safe()))
//	}
//
// Tags say what an argument takes, see [Func]; [Argument] adds any other keyword of JSON Schema. An
// [Option] sets a property of a tool: its safety ([Safe], [Cautious], [Dangerous]), the capability
// that its callers need ([Permission]), [Timeout], [RateLimit], [Idempotent], and a [Preview] for the
// person who approves a call.
//
// # Results and errors
//
// A function returns text, a value that becomes structured output, or a [tool.Result]. An error
// is the tool's own failure, which the caller's model reads. One that wraps a [*tool.Error], made for
// instance by [tool.Errorf], keeps its code across the connection.
//
// # During a call
//
// The context of a function belongs to its call. It ends when the caller gives up or the time is
// over (its Deadline), and these take it:
//
//   - [tool.CallFrom]: the call's ID, the tool, the raw arguments, the caller's name, the session,
//     by which state is kept, and the idempotency key of a call that may be repeated. What a caller
//     may do is decided before the call
//   - [tool.TraceFrom]: the trace, to be passed on with requests to others. OpenTelemetry's API finds it
//     in the context too, so that spans that a tool begins are below the host's
//   - [tool.Report]: progress, for callers that show it
//   - [tool.Stream]: the text of a long result as it comes, for callers that show it
//   - [Ask]: a question to whoever made the call
//   - [tool.Log], [slog.InfoContext] and its like: a line of the log that names the call
//
// # The process
//
// A [Plugin] has more than tools: a name and a version, a typed [Configuration], tools that change
// ([Plugin.Set]), state per session ([Plugin.KeepsSessions]), and the needs ([Plugin.Needs]) by which
// it is confined. What it prints and logs is in the host's log, see [Plugin.Main].
// [Config.CheckWrite] says whether a tool may change a file.
//
// # Tests
//
// Package tooltest calls tools as a host does, checks a plugin's contract, keeps its definitions in a
// golden file and replays recorded calls. Package tool has the types that tools, plugins and
// hosts share.
package pluginsdk

// version is the SDK's, which a plugin reports to its host.
const version = "0.1.0"
