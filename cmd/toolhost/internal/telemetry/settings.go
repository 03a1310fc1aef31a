package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
)

// tracesPath is where a collector takes traces, below its endpoint.
const tracesPath = "/v1/traces"

// environment is that of the process; [otlptracehttp] reads it too.
type environment func(string) (string, bool)

func (e environment) get(name string) string {
	value, _ := e(name)
	return strings.TrimSpace(value)
}

// exporter returns a variable of the exporter, of which that for traces goes first.
func (e environment) exporter(name string) string {
	return cmp.Or(e.get("OTEL_EXPORTER_OTLP_TRACES_"+name), e.get("OTEL_EXPORTER_OTLP_"+name))
}

// endpoint returns where traces are sent; empty: nowhere.
func (e environment) endpoint(s config.Telemetry) string {
	switch own := e.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); {
	case strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true"), s.Endpoint == "" && e.get("OTEL_TRACES_EXPORTER") == "none":
		return ""
	case s.Endpoint != "":
		return strings.TrimRight(string(s.Endpoint), "/") + tracesPath
	case own != "":
		return own
	}
	if base := e.get("OTEL_EXPORTER_OTLP_ENDPOINT"); base != "" {
		return strings.TrimRight(base, "/") + tracesPath
	}
	return ""
}

// threshold is what the last 63 bits of a trace's ID are below, if it is sampled, as OpenTelemetry's
// TraceIDRatioBased has it, so that hosts and plugins agree.
func (e environment) threshold(sample int) (uint64, error) {
	if sample > 0 {
		return (1 << 63) / uint64(sample), nil
	}
	switch name := strings.TrimPrefix(e.get("OTEL_TRACES_SAMPLER"), "parentbased_"); name {
	case "", "always_on":
		return 1 << 63, nil
	case "always_off":
		return 0, nil
	case "traceidratio":
		ratio, err := strconv.ParseFloat(cmp.Or(e.get("OTEL_TRACES_SAMPLER_ARG"), "1"), 64)
		if err != nil || ratio < 0 || ratio > 1 {
			return 0, errors.New("OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1")
		}
		return uint64(ratio * (1 << 63)), nil
	}
	return 0, errors.New("OTEL_TRACES_SAMPLER is none of always_on, always_off and traceidratio, with parentbased_ before them or not")
}

// options returns the options of the client that sends to a collector, which may not lead it elsewhere.
// Exposed says that headers, which may have secrets in them, go there in clear text.
func (e environment) options(s config.Telemetry, endpoint string) (out []otlptracehttp.Option, exposed bool, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false, errors.New("the endpoint is not a URL that begins with http:// or https://")
	}
	if e.exporter("PROTOCOL") == "grpc" {
		return nil, false, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL is grpc: only http/protobuf and http/json are spoken, mostly on port 4318")
	}
	out = []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithMaxResponseSize(64 << 10),
		otlptracehttp.WithProxy(func(r *http.Request) (*url.URL, error) {
			if r.Response != nil {
				return nil, fmt.Errorf("the collector leads to %s, which is not followed", r.URL.Redacted())
			}
			return http.ProxyFromEnvironment(r)
		}),
	}
	if len(s.Headers) > 0 {
		headers := map[string]string{}
		for _, h := range s.Headers {
			if headers[h.Name], err = h.Text(e); err != nil {
				return nil, false, fmt.Errorf("the header %s cannot be set: %w", h.Name, err)
			}
		}
		out = append(out, otlptracehttp.WithHeaders(headers))
	}
	address := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || address != nil && address.IsLoopback()
	return out, u.Scheme == "http" && !local && (len(s.Headers) > 0 || e.exporter("HEADERS") != ""), nil
}
