package outbox

// reportedTypes are the types and versions that were reported as unknown.
type reportedTypes map[eventType]struct{}

type eventType struct {
	name    string
	version int
}

// reportUnknown says once per type that this process cannot deliver it.
func (l *lane) reportUnknown(d *Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reportUnknownLocked(d)
}

func (l *lane) reportUnknownLocked(d *Delivery) {
	t := eventType{d.Type, d.Version}
	if _, reported := l.unknown[t]; reported {
		return
	}
	if l.unknown == nil {
		l.unknown = make(reportedTypes)
	}
	l.unknown[t] = struct{}{}
	l.d.logDelivery(d).Warn("this process does not know the event's type or version: its deliveries wait for one that does",
		"event_version", d.Version, "backoff_seconds", UnknownDelay.Seconds())
}
