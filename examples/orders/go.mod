module github.com/outboxgen/outboxgen/examples/orders

go 1.26.0

tool github.com/outboxgen/outboxgen/cmd/outboxgen

replace github.com/outboxgen/outboxgen => ../..
