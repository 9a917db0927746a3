package inbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/inbox"
)

func TestNewReceiver_NamesEveryFaultAtOnce(t *testing.T) {
	_, err := inbox.NewReceiver[*inbox.MemoryTx](nil, []inbox.EventType[*inbox.MemoryTx]{
		{Type: "", Version: 0},
		{Type: "order.created", Version: 1, Idempotency: canonical.Policy{Mode: canonical.ByFields}},
		{Type: "order.created", Version: 1, Idempotency: byOrder},
	}, inbox.Config{
		Sources:        []string{""},
		Tolerance:      -1,
		MaxBody:        -1,
		ReadTimeout:    -1,
		HandlerTimeout: -1,
		PurgeInterval:  -1,
		SenderHorizon:  -1,
		Unknown:        7,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		"inbox: new receiver", "store is nil", "Consumer is empty", "Sources[0] is empty", "there is no secret",
		"Tolerance is", "MaxBody is", "ReadTimeout is", "HandlerTimeout is", "PurgeInterval is", "SenderHorizon is", "Unknown is 7",
		"Type is empty", "Version must be", "Idempotency.Mode", "Idempotency names no fields", "Apply is nil", "is listed twice",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, err)
		}
	}
}

func TestNewReceiver_ReadsSecretsAndNamesUnsetVariables(t *testing.T) {
	t.Setenv("BILLING_SECRET", secretText(1))
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.Secrets = []string{"${BILLING_SECRET}"} })
	c.deliver(t, orderCreated("o-1")).want(t, 200, "applied")

	_, err := inbox.NewReceiver(c.store, c.eventTypes(), inbox.Config{
		Consumer: "billing", Sources: []string{source},
		Secrets: []string{"${NO_SUCH_SECRET}", "${BILLING_SECRET}", "${NO_OTHER_SECRET}", "whsec_c2hvcnQ="},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"NO_SUCH_SECRET", "NO_OTHER_SECRET", "secrets[3]"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "c2hvcnQ") || strings.Contains(err.Error(), secretText(1)[6:]) {
		t.Errorf("the error shows a secret: %v", err)
	}
}

func TestNewReceiver_ChecksTheWindow(t *testing.T) {
	for _, test := range []struct {
		name                          string
		retention, horizon, tolerance time.Duration
		want                          string
	}{
		{"defaults", 0, 0, 0, ""},
		{"covers the sender", 48 * time.Hour, 48 * time.Hour, 0, ""},
		{"shorter than the sender's horizon", 47 * time.Hour, 48 * time.Hour, 0, "Retention 47h0m0s is shorter than the 48h0m0s"},
		{"default grows to the sender's horizon", 0, 1000 * time.Hour, 0, ""},
		{"shorter than captured requests live", 9 * time.Minute, 0, 0, "twice Tolerance"},
		{"shorter than a raised tolerance", time.Hour, 0, time.Hour, "twice Tolerance"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newConsumer(t, nil)
			_, err := inbox.NewReceiver(c.store, c.eventTypes(), inbox.Config{
				Consumer: "billing", Sources: []string{source}, AllowUnsigned: true,
				Retention: test.retention, SenderHorizon: test.horizon, Tolerance: test.tolerance,
			})
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestNewReceiver_SecretsAndAllowUnsignedContradict(t *testing.T) {
	c := newConsumer(t, nil)
	_, err := inbox.NewReceiver(c.store, c.eventTypes(), inbox.Config{
		Consumer: "billing", Sources: []string{source}, AllowUnsigned: true, Secrets: []string{secretText(1)}})
	if err == nil || !strings.Contains(err.Error(), "AllowUnsigned is set beside Secrets") {
		t.Errorf("error %v", err)
	}
}

func TestConfig_Or(t *testing.T) {
	spec := inbox.Config{Consumer: "billing", Sources: []string{source}, Secrets: []string{"${BILLING_SECRET}"}, SenderHorizon: time.Hour,
		Unknown: inbox.UnknownReject}
	if got := (inbox.Config{}).Or(spec); got.Consumer != "billing" || got.Sources[0] != source ||
		got.Secrets[0] != "${BILLING_SECRET}" || got.SenderHorizon != time.Hour || got.Unknown != inbox.UnknownReject || got.AllowUnsigned {
		t.Errorf("zero fields do not inherit: %+v", got)
	}
	own := inbox.Config{Consumer: "ledger", Sources: []string{"/other"}, Secrets: []string{"file:/run/s"}, Retention: time.Hour, MaxBody: 1,
		Unknown: inbox.UnknownAcknowledge}
	if got := own.Or(spec); got.Consumer != "ledger" || got.Sources[0] != "/other" || got.Secrets[0] != "file:/run/s" ||
		got.Retention != time.Hour || got.MaxBody != 1 || got.Unknown != inbox.UnknownAcknowledge {
		t.Errorf("own fields are lost: %+v", got)
	}
	if got := (inbox.Config{AllowUnsigned: true}).Or(spec); !got.AllowUnsigned || got.Secrets != nil {
		t.Errorf("AllowUnsigned inherits secrets: %v", got.Secrets)
	}
}
