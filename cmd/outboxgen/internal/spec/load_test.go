package spec

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// readFrom reads the files of a folder.
func readFrom(folder string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, filepath.FromSlash(name))) }
}

func TestLoad_DesignExample(t *testing.T) {
	s, diagnostics := Load("events.yaml", readFrom("testdata/design"))
	if s == nil || len(diagnostics) > 0 {
		t.Fatalf("diagnostics:\n%s", diagnostics)
	}
	if s.Package != "events" || s.Source != "/services/orders" || s.Retention != 168*time.Hour {
		t.Errorf("header: %+v", s)
	}
	billing, audit := s.Destinations[0], s.Destinations[1]
	want := Breaker{FailureThreshold: 3, RecoveryTime: 10 * time.Second, HalfOpenMaxCalls: 2}
	if billing.GoName != "Billing" || billing.Breaker != want || billing.Webhook.URL != "${BILLING_URL}" || billing.Webhook.Headers[0] != (Header{"X-Tenant", "shop"}) {
		t.Errorf("billing: %+v %+v", billing, billing.Webhook)
	}
	if audit.Kind != Handler || audit.Webhook != nil || audit.Timeout != 10*time.Second {
		t.Errorf("audit: %+v", audit)
	}
	created, shipped := s.Events[0], s.Events[1]
	if created.GoName != "OrderCreated" || created.Version != 2 || created.OrderingKey != created.Fields[0] || created.Idempotency.Fields[0] != created.Fields[0] {
		t.Errorf("order.created: %+v", created)
	}
	if shipped.Name != "order.shipped" || shipped.Pos.File != "shipping.yaml" || shipped.Fields[1].Type.Named.GoName != "Parcel" {
		t.Errorf("order.shipped: %+v", shipped)
	}
	byName := map[string]*Field{}
	for _, f := range created.Fields {
		byName[f.Name] = f
	}
	if f := byName["items"]; f.Type.List.Type.Named != s.Types[0] {
		t.Errorf("items: %+v", f.Type)
	}
	if f := byName["labels"]; f.Type.Map.Type.Scalar != String {
		t.Errorf("labels: %+v", f.Type)
	}
	if f := byName["note"]; !f.Optional || f.Nullable || f.Type.Scalar != String {
		t.Errorf("note: %+v", f)
	}
	if f := byName["discount"]; !f.Optional || !f.Nullable || f.Type.Scalar != Decimal {
		t.Errorf("discount: %+v", f)
	}
	if e := byName["channel"].Type.Enum; e.GoName != "OrderCreatedChannel" || e.Values[0].GoName != "OrderCreatedChannelWeb" {
		t.Errorf("channel: %+v", e)
	}
	if g := byName["carrier"].GoType; g.ImportPath != "example.org/shop/ship" || g.Name != "Carrier" {
		t.Errorf("carrier: %+v", g)
	}
	if max := byName["customer_email"].Rules.MaxLength; max == nil || *max != 254 {
		t.Errorf("customer_email: %+v", byName["customer_email"].Rules)
	}
	if got := s.Files; len(got) != 2 || got[0] != "events.yaml" || got[1] != "shipping.yaml" {
		t.Errorf("files: %q", got)
	}
}
