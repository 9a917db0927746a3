package outbox

import "context"

type traceKey struct{}

// ContextWithTrace returns a context whose inserts carry the trace context t:
// it is stored with the event and sent with each of its attempts (W3C Trace
// Context, sections 3.2 traceparent and 3.3 tracestate).
func ContextWithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFromContext is the trace that ContextWithTrace put into ctx. A
// Handler's context carries its event's.
func TraceFromContext(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}
