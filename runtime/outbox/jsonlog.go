package outbox

import (
	"io"
	"log/slog"
)

// NewJSONLog returns a handler that writes one JSON object a line, with the
// names that log pipelines expect: slog's time becomes timestamp (RFC 3339,
// UTC) and msg becomes message. A nil level is slog.LevelInfo.
//
// slog cannot tell its own time and msg from attributes of that name at the
// top level; those are renamed too.
func NewJSONLog(w io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: renameBuiltins})
}

func renameBuiltins(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		a.Key = "timestamp"
		if a.Value.Kind() == slog.KindTime {
			a.Value = slog.TimeValue(a.Value.Time().UTC())
		}
	case slog.MessageKey:
		a.Key = "message"
	}
	return a
}
