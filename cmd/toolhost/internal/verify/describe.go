package verify

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sample"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// maxDescription bounds an answer to Describe, in bytes, as a host does.
const maxDescription = 16 << 20

func describeChecks() []Check {
	return []Check{
		check("describe.answers", "services", []string{"handshake.connects"}, "Describe is answered",
			"serve toolhost.plugin.v1.ToolPlugin; Describe needs no configuration, and comes first",
			func(ctx context.Context, s *subject) (f finding) {
				about, err := s.main.client.Describe(ctx, s.describeRequest(), grpc.MaxCallRecvMsgSize(maxDescription))
				if err != nil {
					return failIf(err)
				}
				s.about, s.tools = about, declaredBy(about)
				return passed
			}),
		about("describe.name", "it gives itself a name", "set DescribeResponse.name", func(d *pluginv1.DescribeResponse) finding {
			return foundIf(strings.TrimSpace(d.GetName()) == "", fail("the name is empty"))
		}),
		about("describe.version", "it says which version it is", "set DescribeResponse.version, preferably to a semantic version",
			func(d *pluginv1.DescribeResponse) finding {
				empty := strings.TrimSpace(d.GetVersion()) == ""
				return foundIf(empty, warn("the version is empty, so that operators cannot tell two builds apart"))
			}),
		about("describe.tools", "it has tools", "list the tools in DescribeResponse.tools", func(d *pluginv1.DescribeResponse) finding {
			return foundIf(len(d.GetTools()) == 0, warn("it describes no tool"))
		}),
		about("describe.unique", "no two tools have the same name", "rename one of them: a host refuses the whole plugin",
			func(d *pluginv1.DescribeResponse) finding {
				var f faults
				seen := map[string]int{}
				for _, t := range d.GetTools() {
					if seen[t.GetName()]++; seen[t.GetName()] == 2 {
						f.add("%s is there twice", sanitize.Quote(t.GetName(), 60))
					}
				}
				return f.finding(Fail)
			}),
		check("describe.files", "interpreted-plugins", []string{"describe.answers"}, "the files that it names exist",
			"name files by absolute paths, or relative to the directory of the executable, and ship them with it",
			checkFiles),
		check("describe.newer", "services", []string{"describe.answers"},
			"fields that a newer host sends are ignored",
			"decode with a protobuf library, which skips unknown fields",
			func(ctx context.Context, s *subject) finding {
				in := s.describeRequest()
				in.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 999, protowire.BytesType), []byte("new")))
				_, err := s.main.client.Describe(ctx, in)
				return failIf(err)
			}),
		check("describe.again", "tools-that-change", []string{"describe.answers"},
			"all answers to Describe are the same",
			"sort what comes from maps and sets; send \"tools changed\" when the tools do change",
			func(ctx context.Context, s *subject) finding {
				for range 3 {
					again, err := s.main.client.Describe(ctx, s.describeRequest())
					if err != nil {
						return fail("another time: %v", err)
					}
					if f := sameDescription(s.about, again); f.outcome != Pass {
						return f
					}
				}
				return passed
			}),
	}
}

// about is a check of the description.
func about(id, what, do string, try func(*pluginv1.DescribeResponse) finding) Check {
	return check(id, "services", []string{"describe.answers"}, what, do,
		func(_ context.Context, s *subject) finding { return try(s.about) })
}

func sameDescription(a, b *pluginv1.DescribeResponse) finding {
	if proto.Equal(a, b) {
		return passed
	}
	if len(a.GetTools()) != len(b.GetTools()) {
		return fail("there are %d tools the first time and %d the second", len(a.GetTools()), len(b.GetTools()))
	}
	for i, t := range a.GetTools() {
		switch other := b.GetTools()[i]; {
		case t.GetName() != other.GetName():
			return fail("the order differs: tool %d is %s the first time and %s the second", i+1,
				sanitize.Quote(t.GetName(), 60), sanitize.Quote(other.GetName(), 60))
		case !proto.Equal(t, other):
			return fail("tool %s is defined differently the second time", sanitize.Quote(t.GetName(), 60))
		}
	}
	return fail("name, version, features, files or needs differ the second time")
}

// maxFiles is how many files a description may name.
const maxFiles = 256

func checkFiles(_ context.Context, s *subject) finding {
	files := s.about.GetFiles()
	if len(files) > maxFiles {
		return fail("it names %d files, more than %d", len(files), maxFiles)
	}
	var f faults
	target, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return skip("%v", err)
	}
	for _, name := range files {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(target), path)
		}
		if _, err := os.Lstat(path); err != nil {
			f.add("%s does not exist", sanitize.Quote(path, 150))
		}
	}
	return f.finding(Fail)
}

func configureChecks() []Check {
	return []Check{
		check("configure.fits", "services", []string{"describe.answers"},
			"the configuration that is given, or none, fits its schema, a JSON Schema of an object",
			"give verify a configuration with --plugin-config, or correct config_schema_json: it may be empty, or require nothing",
			func(ctx context.Context, s *subject) finding {
				if len(s.about.GetConfigSchemaJson()) == 0 {
					if len(s.Config) > 0 {
						return fail("a configuration is given, and the plugin describes none")
					}
					return passed
				}
				compiled, err := schema.CompileInput(s.about.GetConfigSchemaJson())
				if err != nil {
					return failIf(err)
				}
				if err := compiled.Check(ctx, s.Config); err != nil {
					return fail("a host refuses to start it: %v", err)
				}
				return passed
			}),
		check("configure.accepts", "services", []string{"configure.fits"},
			"Configure accepts a workspace, that configuration and protected paths that do not exist",
			"answer with an empty ConfigureResponse; nothing of it has to be there already",
			func(ctx context.Context, s *subject) finding {
				err := s.prepare(ctx, s.main)
				if err != nil {
					s.main.end()
				}
				return failIf(err)
			}),
		check("configure.refuses", "services", []string{"configure.accepts"},
			"a configuration that does not fit is refused, and does not crash it",
			"answer with a gRPC status, whose message the operator sees, or ignore what is not known",
			func(ctx context.Context, s *subject) finding {
				if len(s.about.GetConfigSchemaJson()) == 0 {
					return skip("it takes no configuration")
				}
				p, err := s.connected(ctx, startOptions{})
				if err != nil {
					return skip("%v", err)
				}
				defer p.end()
				in := s.configuration(p.root)
				for _, in.ConfigJson = range [][]byte{spoilt(s.about.GetConfigSchemaJson()), []byte(`[]`), []byte(`{`)} {
					_, _ = p.client.Configure(ctx, in)
					if err := p.isWell(ctx); err != nil {
						return fail("after the configuration %s: %v", sanitize.Quote(string(in.GetConfigJson()), 100), err)
					}
				}
				return passed
			}),
	}
}

// spoilt returns arguments in which each value has another type than the schema says.
func spoilt(input tool.Schema) json.RawMessage {
	members, err := jsontree.ParseObject(sample.Arguments(input, true))
	if err != nil {
		return json.RawMessage(`{"":[]}`)
	}
	for i, m := range members.Members {
		wrong := `["neither",0,null]`
		switch jsontree.TypeOf(m.Value) {
		case "string":
			wrong = "42"
		case "array":
			wrong = `{"not":"a list"}`
		}
		members.Members[i].Value = json.RawMessage(wrong)
	}
	return jsontree.Encode(members)
}
