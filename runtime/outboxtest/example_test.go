package outboxtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

// placeOrder is code under test: it writes in the caller's transaction.
func placeOrder(ctx context.Context, out outbox.Inserter[*transaction], tx *transaction, id string) error {
	_, err := outbox.InsertEvent(ctx, out, tx, orders, id, []byte(`{"order_id":"`+id+`"}`))
	return err
}

// What a transaction emitted, without a database.
func ExampleRecorder() {
	recorder := outboxtest.NewRecorder[*transaction](nil)
	tx := new(transaction)
	if err := placeOrder(context.Background(), recorder, tx, "o-1"); err != nil {
		fmt.Println(err)
	}
	for _, rec := range recorder.Emitted(tx) {
		fmt.Println(rec.Type, string(rec.Payload))
	}
	// Output: order.created {"order_id":"o-1"}
}

// fakeAudit stands for a generated handler interface's fake.
type fakeAudit struct {
	created outboxtest.Calls[orderCreated]
}

func (f *fakeAudit) OrderCreated(_ context.Context, e orderCreated) error { return f.created.Call(e) }

// A fake handler that fails once.
func ExampleCalls() {
	audit := &fakeAudit{}
	audit.created.FailNext(errors.New("disk full"))
	for range 2 {
		fmt.Println(audit.OrderCreated(context.Background(), orderCreated{OrderID: "o-1"}))
	}
	fmt.Println(len(audit.created.All()), "calls")
	// Output:
	// disk full
	// <nil>
	// 2 calls
}
