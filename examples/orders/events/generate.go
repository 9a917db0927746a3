// Package events holds the events of the order service, generated from
// events.yaml.
package events

//go:generate go tool outboxgen generate
