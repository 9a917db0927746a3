// Command orders is a shop that uses outboxgen as a consumer would: an order
// service, a billing service that hears of its orders, and two demonstrations.
//
//	orders demo           four cycles in one go, each checked
//	orders breaker-demo   the circuit breaker's five phases
//	orders serve          the order service and its dispatcher
//	orders billing        the billing service
//
// serve and billing take BILLING_SECRET (whsec_…) from the environment, serve
// also BILLING_URL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/outboxgen/outboxgen/examples/orders/billing"
	"github.com/outboxgen/outboxgen/examples/orders/breakerdemo"
	"github.com/outboxgen/outboxgen/examples/orders/demo"
	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/examples/orders/shop"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = "usage: orders demo | breaker-demo | serve [-addr HOST:PORT] [-db FILE] | billing [-addr HOST:PORT] [-db FILE]"

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintln(stderr, usage)
		return 2
	}
	log := slog.New(outbox.NewJSONLog(stderr, slog.LevelInfo))
	var err error
	switch command, rest := args[0], args[1:]; command {
	case "demo":
		err = runDemo(ctx, stdout, log)
	case "breaker-demo":
		err = breakerdemo.Run(ctx, stdout)
	case "serve":
		err = serve(ctx, rest, stderr, log)
	case "billing":
		err = serveBilling(ctx, rest, stderr, log)
	default:
		fmt.Fprintln(stderr, usage)
		return 2
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "orders:", err)
		return 1
	}
	return 0
}

func runDemo(ctx context.Context, stdout io.Writer, log *slog.Logger) error {
	dir, err := os.MkdirTemp("", "orders-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return demo.Run(ctx, dir, stdout, log)
}

func serve(ctx context.Context, args []string, stderr io.Writer, log *slog.Logger) error {
	flags := flag.NewFlagSet("orders serve", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "where to listen")
	db := flags.String("db", "shop.db", "the database file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, *db, sqlite.Options{Logger: log})
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := shop.New(ctx, store, log)
	if err != nil {
		return err
	}
	dispatcher, err := events.NewDispatcher(store, shop.Audit{Log: log},
		events.WithConfig(outbox.Config{Logger: log.With("logger", "dispatcher")}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	dispatched := make(chan error, 1)
	go func() { defer cancel(); dispatched <- dispatcher.Run(ctx) }()
	err = listenAndServe(ctx, *addr, s.Handler(), log)
	cancel()
	return errors.Join(err, <-dispatched)
}

func serveBilling(ctx context.Context, args []string, stderr io.Writer, log *slog.Logger) error {
	flags := flag.NewFlagSet("orders billing", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8081", "where to listen")
	db := flags.String("db", "billing.db", "the database file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, *db, sqlite.Options{Logger: log})
	if err != nil {
		return err
	}
	defer store.Close()
	b, err := billing.New(ctx, store, "${BILLING_SECRET}", log)
	if err != nil {
		return err
	}
	return listenAndServe(ctx, *addr, b, log)
}

// listenAndServe serves until ctx ends, then lets requests under way finish.
func listenAndServe(ctx context.Context, addr string, h http.Handler, log *slog.Logger) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "listening", "logger", "http", "url", "http://"+listener.Addr().String())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(stop)
}
