package verify

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

func serviceChecks() []Check {
	after := []string{"configure.accepts"}
	return []Check{
		check("services.unknown", "services", after, "an RPC that it does not know is answered with Unimplemented",
			"leave unknown methods to the gRPC server: newer hosts may try them",
			onLive(func(ctx context.Context, _ *subject, p *process) finding {
				err := p.conn.Invoke(ctx, "/toolhost.plugin.v1.ToolPlugin/OfALaterVersion", &pluginv1.DescribeRequest{}, &pluginv1.ConfigureResponse{})
				return foundIf(status.Code(err) != codes.Unimplemented, fail("an unknown method is not refused so: %v", err))
			})),
		check("services.health", "services", after, "if it serves Health or grpc.health.v1.Health, it is well within 5 s",
			"let Health answer without a problem when the plugin can work; set the status of the service \"plugin\" to SERVING",
			onLive(checkHealth)),
		check("services.preview", "preview", after, "if it names the feature preview, it serves Preview",
			"implement Preview, or do not name the feature; for a tool without a preview answer with the error not_found",
			onLive(func(ctx context.Context, s *subject, p *process) finding {
				if !s.offers(wire.FeaturePreview) {
					return skip("it does not name the feature preview")
				}
				out, err := p.client.Preview(ctx, s.request(noTool, nil))
				if err != nil {
					return failIf(err)
				}
				return foundIf(out.GetError() == nil, fail("the preview of a tool that does not exist is a result, and not an error"))
			})),
	}
}

func (s *subject) offers(feature string) bool { return slices.Contains(s.about.GetFeatures(), feature) }
