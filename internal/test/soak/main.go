// Command soak keeps a host's plugins busy from many callers while it kills them at
// random from outside. It then checks that every call was answered once, as promised, and
// that nothing is left.
//
//	go run ./internal/test/soak                # until 200,000 calls and 1,000 kills are done
//	go run ./internal/test/soak -duration 1m   # for a minute, however many that are
//	go run ./internal/test/soak -fleet         # with three hosts of a fleet, which are killed, stopped and drained
//
// It exits with 1 if a promise was broken, and says which. The files are in this order:
// [soak] is a run, a [caller] makes calls, the [killer] kills, [serve] is the plugin with
// its ledger, and [Report] is the outcome, which it judges. [fleetSoak] is a run with hosts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
)

func main() {
	if isPlugin() {
		serve()
		return
	}
	if text := os.Getenv(nodeVariable); text != "" {
		if err := runNode(text); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "soak:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

var errBroken = errors.New("a promise was broken; the reasons are above")

// command is the program.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	if s.fleet {
		r, err := runFleet(ctx, s, progress)
		if err != nil {
			return err
		}
		return show(out, s, r, r.Broken)
	}
	r, err := run(ctx, s, progress)
	if err != nil {
		return err
	}
	return show(out, s, r, r.Broken)
}

// show shows a report.
func show(out io.Writer, s settings, r interface{ table() string }, broken []string) (err error) {
	if s.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(r)
	} else {
		_, err = io.WriteString(out, r.table())
	}
	if err == nil && len(broken) > 0 {
		err = errBroken
	}
	return err
}

// settings are what the flags say.
type settings struct {
	calls, kills int
	duration     time.Duration // 0: until there were as many calls and kills
	callers      int
	plugins      int // of each host
	carriers     []plugin.Carrier
	every        time.Duration // the mean pause between two kills
	json         bool
	fleet        bool // of three hosts, in place of plugins
}

func parse(args []string, complaints io.Writer) (settings, error) {
	var s settings
	var carriers string
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.IntVar(&s.calls, "calls", 200_000, "how many calls there must have been, at least")
	flags.IntVar(&s.kills, "kills", 1_000, "how many kills there must have been, at least")
	flags.DurationVar(&s.duration, "duration", 0, "run for so long instead, however many calls and kills that are")
	flags.IntVar(&s.callers, "callers", 64, "how many calls are under way at a time")
	flags.IntVar(&s.plugins, "plugins", 2, "how many plugins each host has")
	flags.StringVar(&carriers, "carrier", "stream,socket", "what calls travel on: stream, socket or unary; for each that is named there is a host")
	flags.DurationVar(&s.every, "every", 100*time.Millisecond, "the mean pause between two kills")
	flags.BoolVar(&s.fleet, "fleet", false, "disturb hosts of a fleet, not plugins; of the other flags callers, duration (1m) and json count")
	flags.BoolVar(&s.json, "json", false, "print JSON in place of a table")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 || min(s.callers, s.plugins) < 1 || min(s.calls, s.kills) < 0 || min(s.every, s.duration+1) <= 0 {
		return s, fmt.Errorf("there are no arguments, and no number is negative; callers, plugins and every are not 0 either (got %q)", args)
	}
	for name := range strings.SplitSeq(carriers, ",") {
		c := plugin.Carrier(name)
		if c != plugin.Socket && c != plugin.Stream && c != plugin.Unary {
			return s, fmt.Errorf("%q is not a carrier: use socket, stream or unary", name)
		}
		if !slices.Contains(s.carriers, c) {
			s.carriers = append(s.carriers, c)
		}
	}
	return s, nil
}
