package signature_test

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

func ExampleVerify() {
	secrets, err := signature.Load([]string{"whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, at, body := "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	header, err := signature.Sign(secrets, id, at, body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(header)
	message := signature.Message{ID: id, Timestamp: "1614265330", Signature: header, Body: body}
	fmt.Println(signature.Verify(secrets, message, at.Add(time.Minute), signature.DefaultTolerance))
	fmt.Println(signature.Verify(secrets, message, at.Add(time.Hour), signature.DefaultTolerance))
	// Output:
	// v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
	// <nil>
	// signature: webhook-timestamp is too old
}
