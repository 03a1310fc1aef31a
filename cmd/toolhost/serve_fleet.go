package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/daemon"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/lazy"
)

// fleetFlags are those of serve about a fleet.
type fleetFlags struct {
	nats, name string
}

func (f *fleetFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.nats, "nats", "", "join the fleet on the NATS server at this `URL`, or run one: embedded[:PORT]")
	flags.StringVar(&f.name, "name", "", "the `NAME` of this host in its fleet (default nats.name in the configuration, else the machine's)")
	_ = cmd.RegisterFlagCompletionFunc("nats", cobra.FixedCompletions([]string{embeddedNATS, "nats://", "tls://"},
		cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

const (
	embeddedNATS = "embedded"
	natsPort     = 4222
)

var natsURL = lazy.Regexp(`^(nats|tls|wss?)://[^\s,/]+/?(,(nats|tls|wss?)://[^\s,/]+/?)*$`)

// parse returns what the flags say.
//
// # Errors
//
// [*exit.Error] for what cannot be read.
func (f *fleetFlags) parse(given func(string) bool) (out daemon.Fleet, err error) {
	switch port, numbered := strings.CutPrefix(f.nats, embeddedNATS+":"); {
	case f.nats == "" && given("nats"):
		return out, exit.Usage("--nats is empty", "give a URL such as nats://127.0.0.1:4222, or embedded")
	case f.nats == embeddedNATS || numbered:
		n := natsPort
		if numbered {
			if n, err = strconv.Atoi(port); err != nil || n < 0 || n > 1<<16-1 {
				return out, exit.Usage(fmt.Sprintf("--nats: %q is not a port", port), "give embedded, or embedded: and a number up to 65535")
			}
		}
		out.Embedded = &n
	case f.nats != "" && !natsURL().MatchString(f.nats):
		return out, exit.Usage("--nats is neither a URL of a NATS server nor embedded", "give a URL such as nats://127.0.0.1:4222, or embedded[:PORT]")
	default:
		out.URL = f.nats
	}
	out.Name = f.name
	return out, nil
}
