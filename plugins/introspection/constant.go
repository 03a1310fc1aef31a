package main

import (
	"go/constant"
	"math/big"
	"strconv"
)

const (
	// maxShort bounds a constant's value within a signature, in bytes.
	maxShort = 80
	// maxValue bounds a constant's value that stands alone, in bytes.
	maxValue = 4 << 10
	// maxDigits is how many digits of a fraction are worth writing out.
	maxDigits = 400
	// maxExponent bounds, in bits, what is converted to decimal with care: the
	// work and the memory grow with the exponent, which the source chooses.
	maxExponent = 4 << 10
)

// exact is a constant's value as Go would write it, to the last digit where
// there is an end to the digits.
func exact(v constant.Value) string {
	switch v.Kind() {
	case constant.String:
		return strconv.Quote(constant.StringVal(v))
	case constant.Float:
		return exactFloat(v)
	default:
		return v.ExactString()
	}
}

// exactFloat writes decimals rather than the fraction that ExactString gives.
// What has too many of them is rounded, and says so.
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
	if s := r.RatString(); len(s) <= maxShort {
		return s
	}
	return rounded(new(big.Float).SetPrec(200).SetRat(r))
}

func rounded(f *big.Float) string { return f.Text('g', 20) + " (rounded)" }
