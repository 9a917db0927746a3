package inbox_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(crashRole); role != "" {
		if err := crashingConsumer(role, os.Getenv(crashFolder)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// serve listens on a free port of the loopback interface and says the URL.
func serve(h http.Handler, say func(string)) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	say("http://" + listener.Addr().String())
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}
