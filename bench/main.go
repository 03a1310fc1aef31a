// Command bench measures what a call through toolhost costs, against the same call
// with go-plugin alone, over MCP, and over a plain socket. Everything takes turns
// in one run; what counts are the ratios within a round.
//
//	go run .                        # everything, about seven minutes
//	go run . -only 'latency|load'   # some of it; writes no files
//	go run . -quick                 # a look at whether it works
//	go run . -profile DIR           # where the host's time goes
//	go run . -tree DIR              # toolhost as it is there
//
// The files are in this order: [measurement] is something to measure, [variant] a
// way to call a tool, [bench] runs the ones with the others, [results] keeps what
// came out.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command is the program.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	if s.tree != ".." && os.Getenv(modVariable) == "" {
		return inTree(ctx, s.tree, args, out, progress)
	}
	b, err := open(ctx, s, progress)
	if err != nil {
		return err
	}
	defer b.close()
	if s.profile != "" {
		return b.writeProfiles(ctx)
	}
	r, err := b.measure(ctx)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, r.markdown()); err != nil {
		return err
	}
	if s.out == "" {
		return nil
	}
	return r.write(s.out)
}

// settings are what the flags say.
type settings struct {
	rounds  int
	only    string // empty: everything
	out     string // empty: no files
	profile string
	tree    string // toolhost's source
	sizes   sizes
}

// sizes are how much is done in a round.
type sizes struct {
	slot    float64 // of the usual time
	warm    float64 // of a slot, before it
	plugins int     // in a list
	fleet   int     // of plugins whose goroutines are counted
	repeats int     // of what is one event: a start, a process
	tools   int     // of which a host has many
}

var (
	usual = sizes{slot: 1, warm: .1, plugins: 100, fleet: 10, repeats: 7, tools: 10_000}
	quick = sizes{slot: .03, plugins: 8, fleet: 3, repeats: 1, tools: 200}
)

const defaultOut = "../docs/bench"

func parse(args []string, progress io.Writer) (settings, error) {
	s := settings{sizes: usual}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.IntVar(&s.rounds, "rounds", 12, "how often everything takes its turn")
	flags.StringVar(&s.only, "only", "", "a regular `expression`: measure only what has such a name")
	flags.StringVar(&s.out, "out", "", "the `directory` to write latest.json, latest.md and latest.svg to (default "+defaultOut+"; with -only: none)")
	flags.StringVar(&s.profile, "profile", "", "write CPU profiles of the host to a `directory`, and measure nothing")
	flags.StringVar(&s.tree, "tree", "..", "the `directory` with toolhost's source: an older one, to measure it in turn with this one")
	inBrief := flags.Bool("quick", false, "one short round, no files")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if tree, err := filepath.Abs(s.tree); s.tree != ".." && err == nil {
		s.tree = tree
	}
	if flags.NArg() > 0 || s.rounds < 1 {
		return s, fmt.Errorf("there are no arguments, and at least one round (got %d, and %q)", s.rounds, flags.Args())
	}
	if s.out == "" && s.only == "" && s.tree == ".." {
		s.out = defaultOut
	}
	if *inBrief {
		s.rounds, s.sizes, s.out = 1, quick, ""
	}
	return s, nil
}
