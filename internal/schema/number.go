package schema

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// decimal is a number as ±digits × 10^exponent, where the digits neither begin
// nor end with a zero: two literals are the same number exactly if their
// decimals are. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf reads a literal that the parser has taken.
func decimalOf(n json.Number) decimal {
	var d decimal
	s, negative := strings.CutPrefix(string(n), "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		d.exponent, _ = strconv.Atoi(s[i+1:]) // the parser has bounded it
		s = s[:i]
	}
	if whole, fraction, ok := strings.Cut(s, "."); ok {
		d.exponent -= len(fraction)
		s = whole + fraction
	}
	s = strings.TrimLeft(s, "0")
	d.digits = strings.TrimRight(s, "0")
	d.exponent += len(s) - len(d.digits)
	if d.digits == "" {
		return decimal{} // however it is written
	}
	d.negative = negative
	return d
}

// integral reports whether the number has no fraction; 3.0 has none.
func (d decimal) integral() bool { return d.exponent >= 0 }

// heavy reports whether n costs v5 several times what a usual number does.
func heavy(n json.Number) bool {
	return len(n) > 20 || strings.ContainsAny(string(n), "eE")
}

// compare is negative where d is less than e, and positive where it is more.
func (d decimal) compare(e decimal) int {
	if order := cmp.Compare(d.sign(), e.sign()); order != 0 {
		return order
	}
	order := cmp.Or(
		cmp.Compare(len(d.digits)+d.exponent, len(e.digits)+e.exponent),
		strings.Compare(d.digits, e.digits), // as fractions of the same power of ten
	)
	return order * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}
