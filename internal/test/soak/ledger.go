package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// recordSize is the length of a line in a ledger. It divides a page, so that a
// process that is killed while it writes leaves a whole line or none: the kernel
// looks for signals between pages.
const recordSize = 64

// ledger is a plugin's record of the calls that it began to run, in a file of the
// workspace that outlives it. Nothing is flushed: processes die here, not machines.
type ledger struct{ file *os.File }

// ledgerOf is the path of a plugin's ledger.
func ledgerOf(root, plugin string) string { return filepath.Join(root, plugin+".ledger") }

func openLedger(path string) (ledger, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return ledger{f}, err
}

// add notes a call, in one write.
func (l ledger) add(id string) error {
	_, err := fmt.Fprintf(l.file, "%-*s\n", recordSize-1, id)
	return err
}

// runs is how often each call has run, by its caller and number.
type runs map[int][]uint8

// of is how often a call has run.
func (r runs) of(caller, number int) int {
	if all := r[caller]; number < len(all) {
		return int(all[number])
	}
	return 0
}

// read adds what stands in a ledger. None is an empty one.
func (r runs) read(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		caller, number, err := parseID(strings.TrimRight(line, " \n"))
		if err != nil || len(line) != recordSize {
			return fmt.Errorf("%s has a line that no call made: %q", filepath.Base(path), line)
		}
		for len(r[caller]) <= number {
			r[caller] = append(r[caller], 0)
		}
		if r[caller][number] < 255 {
			r[caller][number]++
		}
	}
	return nil
}

// callID names a call.
func callID(caller, number int) string { return fmt.Sprintf("call-%d-%d", caller, number) }

// maxNumber bounds what is believed of a ledger.
const maxNumber = 1 << 30

func parseID(id string) (caller, number int, err error) {
	_, err = fmt.Sscanf(id, "call-%d-%d", &caller, &number)
	if err == nil && (caller < 0 || number < 0 || number > maxNumber || id != callID(caller, number)) {
		err = errors.New("no call's ID")
	}
	return caller, number, err
}
