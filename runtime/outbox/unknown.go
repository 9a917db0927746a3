package outbox

import "sync"

// reportedTypes are the types and versions that were reported as unknown.
type reportedTypes struct {
	mu    sync.Mutex
	types map[eventType]struct{}
}

type eventType struct {
	name    string
	version int
}

// first reports that t was not noted before.
func (r *reportedTypes) first(t eventType) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, noted := r.types[t]; noted {
		return false
	}
	if r.types == nil {
		r.types = make(map[eventType]struct{})
	}
	r.types[t] = struct{}{}
	return true
}

// reportUnknown says once per type that this process cannot deliver it.
func (l *lane) reportUnknown(d *Delivery) {
	if l.unknown.first(eventType{d.Type, d.Version}) {
		l.d.logDelivery(d).Warn("this process does not know the event's type or version: its deliveries wait for one that does",
			"event_version", d.Version, "backoff_seconds", UnknownDelay.Seconds())
	}
}
