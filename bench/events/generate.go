// Package events is generated from events.yaml; the benchmarks measure it.
package events

//go:generate go run github.com/outboxgen/outboxgen/cmd/outboxgen generate
