package pluginrun

import (
	"fmt"
	"strconv"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
)

// maxHandshake bounds the handshake, in bytes. An honest one has about 100, or 1,000 with a certificate.
const maxHandshake = 4 << 10

// cutHandshake finds the handshake in a line, which may follow text that was printed without a
// newline. It returns false and the line if there is none.
func cutHandshake(line string) (before, handshake string, ok bool) {
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	f := strings.SplitN(strings.TrimLeft(line, "\t\n\f\r "), "|", 4) // of whatever version
	if len(f) == 4 && f[0] != "" && f[2] != "" && strings.Trim(f[0], digits) == "" && strings.Trim(f[2], letters) == "" {
		return "", line, true
	}
	own := fmt.Sprintf("%d|%d|", goplugin.CoreProtocolVersion, wire.ProtocolVersion)
	for at := 0; ; at++ { // one that this host takes, in a line that begins with something else
		next := strings.Index(line[at:], own)
		if next < 0 {
			return line, "", false
		}
		at += next
		if rest := line[at+len(own):]; strings.HasPrefix(rest, "unix|") || strings.HasPrefix(rest, "tcp|") {
			return line[:at], line[at:], true
		}
	}
}

// checkHandshake reads a plugin's handshake, CORE|APP|network|address|protocol|..., as go-plugin's
// client will, so that what is wrong with it can be told to the plugin's author.
//
// It returns what go-plugin is shown: the fields that are checked, and none after those.
// Its client panics if a certificate that it did not ask for follows.
func checkHandshake(line string) (checked string, err error) {
	if len(line) > maxHandshake {
		return "", fmt.Errorf("the handshake is longer than %d bytes", maxHandshake)
	}
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 4 {
		return "", fmt.Errorf("the handshake %s has less than four fields", sanitize.Quote(line, 120))
	}
	core, err := strconv.Atoi(parts[0])
	if err != nil {
		return "", fmt.Errorf("the handshake starts with %s, which is not a version", sanitize.Quote(parts[0], 60))
	}
	if core != goplugin.CoreProtocolVersion {
		return "", fmt.Errorf("the plugin speaks version %d of the go-plugin protocol, this host version %d; "+
			"rebuild it with a current SDK", core, goplugin.CoreProtocolVersion)
	}
	if app, err := strconv.Atoi(parts[1]); err != nil || app != wire.ProtocolVersion {
		return "", fmt.Errorf("the plugin speaks version %s of the toolhost protocol, this host version %d; "+
			"rebuild it with an SDK of that version, or use another host", sanitize.Line(parts[1], 20), wire.ProtocolVersion)
	}
	if len(parts) < 5 || parts[4] != string(goplugin.ProtocolGRPC) {
		return "", fmt.Errorf("the plugin does not serve gRPC; serve with go-plugin's GRPCServer, or build it with pluginsdk")
	}
	return strings.Join(parts[:5], "|") + "\n", nil
}
