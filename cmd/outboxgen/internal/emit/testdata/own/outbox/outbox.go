// Package outbox has the name of a package that generated code imports.
package outbox

import "net/netip"

// Addr is a type of another package under a new name.
type Addr = netip.Addr
