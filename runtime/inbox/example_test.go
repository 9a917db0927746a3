package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
)

// A receiver made by hand; generated code does all of this for the events of
// a destination. The in-memory store keeps the example in one process: a
// program takes the store that its own tables are in.
func ExampleNewReceiver() {
	store := inbox.NewMemory(nil)
	var billed []string
	receiver, err := inbox.NewReceiver(store, []inbox.EventType[*inbox.MemoryTx]{{
		Type: "order.created", Version: 1, Idempotency: byOrder,
		Apply: func(_ context.Context, tx *inbox.MemoryTx, body []byte, _ inbox.Message) error {
			var e struct {
				OrderID string `json:"order_id"`
			}
			if err := json.Unmarshal(body, &e); err != nil {
				return fmt.Errorf("%w: %w", inbox.ErrUndecodable, err)
			}
			tx.OnCommit(func() { billed = append(billed, e.OrderID) })
			return nil
		},
	}}, inbox.Config{
		Consumer:      "billing",
		Sources:       []string{"/services/orders"},
		AllowUnsigned: true, // a real one has Secrets: []string{"${BILLING_SECRET}"}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	const key = "a57f7a4eea13eaeae8bd6c7bc6dfb21bd8a1d14b676b34c6e06c27332d254758"
	for range 2 {
		answer := httptest.NewRecorder()
		receiver.ServeHTTP(answer, exampleRequest(key, `{"amount":"12.5","order_id":"o-1001"}`))
		fmt.Print(answer.Code, " ", answer.Body)
	}
	fmt.Println("billed:", billed)
	// Output:
	// 200 {"result":"applied"}
	// 200 {"result":"duplicate"}
	// billed: [o-1001]
}

// A receiver in a program: bounds on the connection are the server's, old
// inbox rows go while Run runs, and both end in order.
func ExampleReceiver_Run() {
	receiver, err := inbox.NewReceiver(inbox.NewMemory(nil), []inbox.EventType[*inbox.MemoryTx]{{
		Type: "order.created", Version: 1, Idempotency: byOrder,
		Apply: func(context.Context, *inbox.MemoryTx, []byte, inbox.Message) error { return nil },
	}}, inbox.Config{Consumer: "billing", Sources: []string{"/services/orders"}, AllowUnsigned: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/hooks/billing", receiver)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}

	ctx, stop := context.WithCancel(context.Background())
	purging := make(chan error, 1)
	go func() { purging <- receiver.Run(ctx) }()
	// … server.Serve(listener) until a signal arrives; then:
	fmt.Println("server:", server.Shutdown(context.Background()))
	stop()
	fmt.Println("purge:", <-purging)
	// Output:
	// server: <nil>
	// purge: <nil>
}

// A handler tells what no repetition will cure from what one may.
func ExampleReject() {
	errDatabase := errors.New("database is locked")
	bill := func(amount int, err error) error {
		if amount < 0 {
			return inbox.Reject(errors.New("amount is negative")) // 422: a dead letter at once
		}
		return err // 500: comes again
	}
	fmt.Println(bill(-1, nil))
	fmt.Println(bill(1, errDatabase))
	fmt.Println(bill(1, nil))
	// Output:
	// event rejected: amount is negative
	// database is locked
	// <nil>
}

func exampleRequest(key, body string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/hooks/billing", nil)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "webhook-id": key, "ce-source": "/services/orders",
		"X-Event-Id": "019ca930-b400-7000-8000-0242ac120002", "X-Event-Type": "order.created", "X-Event-Version": "1",
	} {
		req.Header.Set(name, value)
	}
	withBody(req, body)
	return req
}
