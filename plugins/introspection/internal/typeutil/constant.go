package typeutil

import (
	"go/constant"
	"math/big"
	"strconv"
)

const (
	// MaxShort bounds a constant's value or a type within a signature or message, in
	// bytes.
	MaxShort = 80
	// MaxValue bounds a constant's value that stands alone, in bytes.
	MaxValue = 4 << 10
	// maxDigits is how many digits of a fraction are worth writing.
	maxDigits = 400
	// maxExponent bounds the binary exponent of floats that are converted to decimal:
	// time and memory grow with the exponent, which the source chooses.
	maxExponent = 4 << 10
)

// ExactValue formats a constant as Go would write it, with all digits if their number
// is finite.
func ExactValue(v constant.Value) string {
	switch v.Kind() {
	case constant.String:
		return strconv.Quote(constant.StringVal(v))
	case constant.Float:
		return exactFloat(v)
	default:
		return v.ExactString()
	}
}

// exactFloat writes decimals rather than the fraction that ExactString returns. A
// value with too many of them is rounded, and says so.
func exactFloat(v constant.Value) string {
	if whole := constant.ToInt(v); whole.Kind() == constant.Int {
		if s := whole.ExactString(); len(s) <= maxDigits {
			return s
		}
	}
	switch x := constant.Val(v).(type) {
	case *big.Rat:
		return exactRat(x)
	case *big.Float:
		if exp := x.MantExp(nil); -maxExponent < exp && exp < maxExponent {
			return rounded(x)
		}
	}
	return v.String() + " (rounded)"
}

func exactRat(r *big.Rat) string {
	if digits, ends := r.FloatPrec(); ends && digits <= maxDigits {
		if s := r.FloatString(digits); len(s) <= maxDigits {
			return s
		}
	}
	if s := r.RatString(); len(s) <= MaxShort {
		return s
	}
	return rounded(new(big.Float).SetPrec(200).SetRat(r))
}

func rounded(f *big.Float) string { return f.Text('g', 20) + " (rounded)" }
