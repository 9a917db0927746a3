// Package len has the name of a predeclared function.
package len

import "net/netip"

// Addr is a type of another package under a new name.
type Addr = netip.Addr
