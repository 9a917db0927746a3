// Package breaker is a circuit breaker.
package breaker
