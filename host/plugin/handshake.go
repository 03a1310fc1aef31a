package plugin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// maxHandshake bounds the handshake line, in bytes. An honest one has about
// 100, or 1,000 with a certificate.
const maxHandshake = 4 << 10

// checkHandshake reads a plugin's first line of standard output,
// CORE|APP|network|address|protocol|..., as go-plugin's client will, so that
// what is wrong with it can be told to the plugin's author.
//
// It returns what go-plugin is shown: the fields that are checked, and none after those.
// Its client panics if a certificate that it did not ask for follows.
func checkHandshake(line string) (checked string, err error) {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 4 {
		return "", fmt.Errorf("the plugin printed %s to standard output before its handshake; "+
			"nothing else may be printed there (use standard error for logs)", sanitize.Quote(line, 120))
	}
	core, err := strconv.Atoi(parts[0])
	if err != nil {
		return "", fmt.Errorf("the handshake starts with %s, which is not a version; nothing else may be printed "+
			"to standard output (use standard error for logs)", sanitize.Quote(parts[0], 60))
	}
	if core != plugin.CoreProtocolVersion {
		return "", fmt.Errorf("the plugin speaks version %d of the go-plugin protocol, this host version %d; "+
			"rebuild it with a current SDK", core, plugin.CoreProtocolVersion)
	}
	if app, err := strconv.Atoi(parts[1]); err != nil || app != wire.ProtocolVersion {
		return "", fmt.Errorf("the plugin speaks version %s of the toolhost protocol, this host version %d; "+
			"rebuild it with an SDK of that version, or use another host", sanitize.Line(parts[1], 20), wire.ProtocolVersion)
	}
	if len(parts) < 5 || parts[4] != string(plugin.ProtocolGRPC) {
		return "", fmt.Errorf("the plugin does not serve gRPC; serve with go-plugin's GRPCServer, or build it with pluginsdk")
	}
	return strings.Join(parts[:5], "|") + "\n", nil
}
