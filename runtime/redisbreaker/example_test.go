package redisbreaker_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/redisbreaker"
)

// One circuit for all processes that call the billing service.
func ExampleNew() {
	client := redis.NewClient(&redis.Options{
		Addr:                  "redis:6379",
		ContextTimeoutEnabled: true, // or a slow store would hold calls up
	})
	defer func() { _ = client.Close() }()
	b, err := redisbreaker.New(redisbreaker.Config{
		Client:  client,
		Breaker: breaker.Config{Name: "billing"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	invoice, err := redisbreaker.Do(context.Background(), b, func(ctx context.Context) (string, error) {
		return "invoice 7", nil // the call to the service
	})
	if errors.Is(err, breaker.ErrOpen) {
		fmt.Println("some process found billing down: not called")
		return
	}
	fmt.Println(invoice, err)
}
