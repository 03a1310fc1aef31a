package doctor

import (
	"context"
	"net"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/mcphttp"
)

// checkCertificate reads the certificate for MCP clients.
func checkCertificate(_ context.Context, p *patient) {
	if files := p.settings.Config.MCP.TLS; files.Cert != "" && files.Key != "" {
		if err := mcphttp.CheckCertificate(files); err != nil {
			p.failed(err.Error(), "restore the files, or mend mcp.tls")
		}
	}
}

// checkAddresses looks whether a daemon could open its addresses. One that runs has them.
func checkAddresses(ctx context.Context, p *patient) {
	if p.running != nil {
		return
	}
	c := p.settings.Config
	for key, address := range map[string]string{"metrics.address": c.Metrics.Address, "mcp.listen": c.MCP.Listen} {
		if address == "" || address == config.Default().MCP.Listen { // MCP clients may not be wanted
			continue
		}
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			p.failed("a daemon does not start, as it cannot open "+key+": "+err.Error(), "end what has it, or name another under "+key)
			continue
		}
		_ = ln.Close()
	}
}
