package doctor

import (
	"context"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/telemetry"
)

// collectorTime bounds how long a collector may take to answer.
const collectorTime = 5 * time.Second

// checkTelemetry asks the collector of traces, if there is one.
func checkTelemetry(ctx context.Context, p *patient) {
	x := telemetry.New(p.settings.Config.Telemetry, os.LookupEnv, hclog.NewNullLogger())
	if x == nil {
		return
	}
	defer x.Close()
	ctx, cancel := context.WithTimeout(ctx, collectorTime)
	defer cancel()
	if err := x.Check(ctx); err != nil {
		p.warning("traces do not arrive at "+x.Endpoint()+": "+err.Error(), "mend the collector, or telemetry; calls go on without")
	} else {
		p.ok("the collector at " + x.Endpoint() + " takes traces")
	}
	if x.Exposed() {
		p.warning("headers go to the collector in clear text", "let telemetry.endpoint begin with https://")
	}
}
