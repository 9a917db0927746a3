package inbox

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// checkMedia returns what is wrong with the request's content type or
// encoding, or "".
func checkMedia(h http.Header) string {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "Content-Encoding is set"
	}
	values := h.Values("Content-Type")
	if len(values) != 1 {
		return fmt.Sprintf("Content-Type stands %d times", len(values))
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "Content-Type is malformed"
	}
	if media != "application/json" {
		return "Content-Type is not application/json"
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return "the charset is not utf-8"
	}
	return ""
}

// readBody reads the whole body or answers 413 or 408. The read deadline is
// set on the connection (HTTP/1) or stream (HTTP/2) where there is one, so
// that a body that trickles in ends.
func (r *Receiver) readBody(w http.ResponseWriter, req *http.Request) ([]byte, answer) {
	limit := fmt.Sprintf("the limit is %d bytes", r.cfg.MaxBody)
	if req.ContentLength > r.cfg.MaxBody {
		return nil, tooLarge.because(limit)
	}
	control := http.NewResponseController(w)
	deadlined := control.SetReadDeadline(time.Now().Add(r.cfg.ReadTimeout)) == nil
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, r.cfg.MaxBody))
	if deadlined && err == nil {
		_ = control.SetReadDeadline(time.Time{}) // a connection that refuses it is gone
	}
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, tooLarge.because(limit)
	case err != nil:
		return nil, incomplete.caused(err)
	}
	return body, answer{}
}
