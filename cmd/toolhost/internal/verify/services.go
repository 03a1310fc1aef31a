package verify

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

func serviceChecks() []Check {
	after := []string{"configure.accepts"}
	return []Check{
		{
			ID: "services.unknown", See: "services", after: after,
			What: "an RPC that it does not know is answered with Unimplemented",
			Do:   "leave unknown methods to the gRPC server: newer hosts may try them",
			run: func(ctx context.Context, s *subject) finding {
				p, err := s.live(ctx)
				if err != nil {
					return failIf(err)
				}
				ctx, cancel := p.link.within(ctx)
				defer cancel()
				err = p.link.conn.Invoke(ctx, "/toolhost.plugin.v1.ToolPlugin/OfALaterVersion", &pluginv1.DescribeRequest{}, &pluginv1.ConfigureResponse{})
				if code := status.Code(err); code != codes.Unimplemented {
					return fail("%v", p.link.explain(ctx, "an unknown method", err))
				}
				return passed
			},
		},
		{
			ID: "services.health", See: "services", after: after,
			What: "if it serves grpc.health.v1.Health, it says that it serves",
			Do:   "set the status of the service \"plugin\" to SERVING, or leave the health service out",
			run:  checkHealth,
		},
		{
			ID: "services.preview", See: "preview", after: after,
			What: "if it names the feature preview, it serves Preview",
			Do:   "implement Preview, or do not name the feature; for a tool without a preview answer with the error not_found",
			run: func(ctx context.Context, s *subject) finding {
				if !s.offers("preview") {
					return skip("it does not name the feature preview")
				}
				p, err := s.live(ctx)
				if err != nil {
					return failIf(err)
				}
				out, err := p.link.preview(ctx, s.request(noTool, nil))
				switch {
				case err != nil:
					return failIf(err)
				case out.GetError() == nil:
					return fail("the preview of a tool that does not exist is a result, and not an error")
				}
				return passed
			},
		},
	}
}

func (s *subject) offers(feature string) bool { return slices.Contains(s.about.GetFeatures(), feature) }
