// Package emittest has what the tests of generated code share: reading the
// specs of testdata, and random values that a spec allows.
package emittest
