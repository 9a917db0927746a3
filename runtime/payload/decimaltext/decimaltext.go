// Package decimaltext writes and reads shopspring decimals for generated event
// types. It stands apart from package payload so that only programs whose
// events have decimals depend on shopspring/decimal.
//
// Every value has one spelling, whatever the exponent it is held with:
// 1.50 and 15e-1 are both written "1.5". Package shopspring/decimal has
// settings that change what its String returns; none of them changes this.
package decimaltext

import (
	"github.com/outboxgen/outboxgen/runtime/payload"
	"github.com/shopspring/decimal"
)

// maxInt64Digits is how many digits any int64 can hold.
const maxInt64Digits = 18

// Write writes d as a string. One with more than [payload.MaxDecimalDigits]
// digits before or after the point is a violation.
func Write(w *payload.Writer, d decimal.Decimal) payload.Decimal {
	if d.NumDigits() <= maxInt64Digits {
		return w.DecimalInt64(d.CoefficientInt64(), d.Exponent())
	}
	return w.DecimalBig(d.Coefficient(), d.Exponent())
}

// Read reads a string that holds a decimal.
func Read(v payload.Value) decimal.Decimal {
	return decimal.NewFromBigInt(v.Decimal())
}

// Text is the spelling of d that Write writes, without quotes.
func Text(d decimal.Decimal) (string, error) {
	return payload.DecimalText(d.Coefficient(), d.Exponent())
}
