package schema

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// decimal is a number as ±digits × 10^exponent, where the digits neither begin
// nor end with a zero: two literals are the same number if and only if their
// decimals are equal. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf parses a literal that the parser has accepted.
func decimalOf(n json.Number) decimal {
	var d decimal
	s, negative := strings.CutPrefix(string(n), "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		d.exponent, _ = strconv.Atoi(s[i+1:]) // the parser has limited it
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
		return decimal{} // all spellings of zero are equal
	}
	d.negative = negative
	return d
}

// integral reports whether the number has no fraction; 3.0 has none.
func (d decimal) integral() bool { return d.exponent >= 0 }

// heavy reports whether n costs v5 several times as much as a usual number.
func heavy(n json.Number) bool {
	return len(n) > 20 || strings.ContainsAny(string(n), "eE")
}

// compare returns a negative number if d < e, 0 if they are equal, and a
// positive number if d > e.
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
