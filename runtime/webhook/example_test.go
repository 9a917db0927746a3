package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook"
)

// A dispatcher does what this example does with the Sender of a destination.
func ExampleNew() {
	secret := "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.Header.Get("X-Event-Type"), r.Header.Get("X-Event-Version"))
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer receiver.Close()
	os.Setenv("BILLING_URL", receiver.URL)
	os.Setenv("BILLING_SECRET", secret)

	destination, err := webhook.New(webhook.Config{
		Name:    "billing",
		URL:     "${BILLING_URL}",
		Source:  "/services/orders",
		Secrets: []string{"${BILLING_SECRET}"},
		Timeout: 5 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := destination.Sender.Send(context.Background(), &outbox.Delivery{Event: &outbox.Event{
		ID:             uuid.MustParse("01932c07-0000-7000-8000-000000000001"),
		Type:           "order.created",
		Version:        2,
		Payload:        []byte(`{"order_id":"o-1"}`),
		IdempotencyKey: "2c852195f1742bc68e2901f6adc7a1593923fb2b472cd6e8b8e7f9cf16f9ffe2",
	}})
	fmt.Println(outcome.Result == outbox.Paused, outcome.PauseFor, outcome.Failure.Message)
	// Output:
	// POST order.created 2
	// true 30s 503 Service Unavailable
}
