package webhook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

func TestNew_ReportsEverythingAtOnceAndNoSecret(t *testing.T) {
	t.Setenv("SET_BADLY", "hunter2-not-base64!")
	t.Setenv("MULTI_LINE", "hunter3\nX-Evil: 1")
	missing := filepath.Join(t.TempDir(), "secret")
	_, err := New(Config{
		Name:          "billing",
		URL:           "https://jane:hunter1@${BILLING_HOST}/${BILLING_PATH}?token=hunter0",
		Secrets:       []string{"${BILLING_SECRET}", "${SET_BADLY}", "whsec_hunter4", "file:" + missing, "whpk_" + "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", "${"},
		Headers:       map[string]string{"X-Token": "Bearer ${HOOK_TOKEN}", "X-Multi": "${MULTI_LINE}", "webhook-id": "1", "X-A": "1", "x-a": "2"},
		Timeout:       -time.Second,
		HeaderTimeout: -time.Second,
		MaxInFlight:   -1,
		Retry:         outbox.RetryPolicy{MaxAttempts: -1},
		Allow:         []string{"10.0.0.0/33", "169.254.0.0/16"},
		Proxy:         "ftp://proxy.example",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`webhook: destination "billing": `,
		"url: environment variable not set: BILLING_HOST, BILLING_PATH",
		"secrets[0] ${BILLING_SECRET}: environment variable not set: BILLING_SECRET",
		"secrets[1] ${SET_BADLY}: secret is not whsec_, whsk_ or whpk_ and standard base64 with padding",
		"secrets[2]: secret is not whsec_",
		"secrets[3] file:" + missing + ": read the secret's file: ",
		"secrets[5]: ${ is not followed by a variable's name and }",
		`header "X-Token": environment variable not set: HOOK_TOKEN`,
		`header "X-Multi": the value may have visible ASCII`,
		`header "webhook-id" is set by the sender or by HTTP itself`,
		`header "x-a" is there twice, in different case`,
		"source is empty",
		"timeout is -1s",
		"header timeout is -1s",
		"max in flight is -1",
		"max attempts is -1",
		`allow[0]: "10.0.0.0/33" is not a range`,
		"allow[1]: 169.254.0.0/16 is link-local",
		"allow cannot be checked through a proxy",
		"proxy: the scheme must be http or https or socks5",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	if strings.Contains(err.Error(), "hunter") {
		t.Error("a secret is in the error")
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestNew_BadURLsAreNotShown(t *testing.T) {
	for url, want := range map[string]string{
		"":                                  "url is empty",
		"://hunter2":                        "url is not a URL",
		"https://hunter2:pass word@x/":      "url is not a URL",
		"https://x/hunter2\n":               "url is not a URL",
		"https://x/hunter2é":                "url is not a URL",
		"https://x:hunter2/":                "url is not a URL",
		"ftp://hunter2/":                    "url: the scheme must be http or https",
		"hunter2":                           "url: the scheme must be http or https",
		"https:///hunter2":                  "url has no host",
		"https://x/#hunter2":                "url has a fragment (#), which is never sent",
		"https://x:99999/hunter2":           "url: the port must be from 1 to 65535",
		"https://x:0/hunter2":               "url: the port must be from 1 to 65535",
		"http://169.254.169.254/hunter2":    "url: address 169.254.169.254 is link-local (RFC 3927): not connecting",
		"http://[fd00:ec2::254]/hunter2":    "url: address fd00:ec2::254 serves metadata (AWS): not connecting",
		"http://[::ffff:a9fe:a9fe]/hunter2": "url: address 169.254.169.254 is link-local (RFC 3927): not connecting",
		"http://[fe80::1%25eth0]/hunter2":   "url: address fe80::1 is link-local (RFC 4291): not connecting",
	} {
		_, err := New(Config{Name: "b", URL: url, Source: "/s"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want %s", url, err, want)
		}
	}
}

func TestNew_PublicKeysCannotSign(t *testing.T) {
	c := config("https://billing.example/")
	c.Secrets = []string{"whpk_" + "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="}
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "secrets[0] is a public key, which cannot sign") {
		t.Errorf("got %v", err)
	}
}

func TestNew_UserNameBesideAuthorization(t *testing.T) {
	c := config("https://jane:open-sesame@billing.example/")
	c.Headers = map[string]string{"authorization": "Bearer x"}
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "header Authorization stands beside a user name in the url") {
		t.Errorf("got %v", err)
	}
}

func TestNew_FillsTheDestination(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(testSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BILLING_URL", "https://jane:open-sesame@billing.example/hooks?token=tok-tok-tok")
	t.Setenv("BILLING_SECRET", testSecret)
	t.Setenv("BY_FILE", "file:"+path)
	dest, err := New(Config{
		Name: "billing", URL: "${BILLING_URL}", Source: "/services/orders",
		Secrets: []string{"${BILLING_SECRET}", "file:" + path, "${BY_FILE}", testSecret},
		MaxAge:  time.Hour, Breaker: breaker.Config{FailureThreshold: 7},
	})
	if err != nil {
		t.Fatal(err)
	}
	if dest.Name != "billing" || dest.Timeout != outbox.DefaultTimeout || dest.MaxInFlight != outbox.DefaultMaxInFlight ||
		dest.Retry != outbox.DefaultRetry || dest.MaxAge != time.Hour || dest.Breaker == nil || dest.Knows != nil {
		t.Errorf("got %+v", dest)
	}
	s := dest.Sender.(*sender)
	if len(s.secrets) != 4 || s.timeout != outbox.DefaultTimeout || s.transport.MaxIdleConnsPerHost != outbox.DefaultMaxInFlight {
		t.Errorf("got %d secrets, timeout %v, %d idle connections", len(s.secrets), s.timeout, s.transport.MaxIdleConnsPerHost)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{dest, dest.Sender, &dest, s.secrets} {
			text := fmt.Sprintf(format, v)
			for _, secret := range []string{"open-sesame", "tok-tok-tok", testSecret[6:], "amFuZTpvcGVuLXNlc2FtZQ"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s shows %q: %s", format, secret, text)
				}
			}
		}
	}
	if dest, err := New(Config{Name: "b", URL: "http://billing.example", Source: "/s", NoBreaker: true}); err != nil || dest.Breaker != nil {
		t.Errorf("NoBreaker: %v, %v", dest.Breaker, err)
	}
}

func TestConfigOr_OverridesFieldByField(t *testing.T) {
	spec := Config{
		Name: "billing", URL: "${BILLING_URL}", Source: "/s", Secrets: []string{"${A}"},
		Headers: map[string]string{"X-Tenant": "shop", "X-Other": "1"}, QuotedIdempotencyKey: true,
		Timeout: time.Second, MaxInFlight: 4, Retry: outbox.RetryPolicy{MaxAttempts: 3, Base: time.Second},
		MaxAge: time.Hour, Breaker: breaker.Config{FailureThreshold: 5, RecoveryTime: time.Minute}, Allow: []string{"10.0.0.0/8"},
	}
	headers := map[string]string{"x-tenant": "mine"}
	got := Config{
		URL: "http://localhost", Secrets: []string{}, Headers: headers, Retry: outbox.RetryPolicy{MaxAttempts: 9},
		MaxAge: -1, Breaker: breaker.Config{FailureThreshold: 1}, Allow: []string{},
	}.Or(spec)
	want := map[string]string{"x-tenant": "mine", "X-Other": "1"}
	if fmt.Sprint(got.Headers) != fmt.Sprint(want) || len(headers) != 1 || len(spec.Headers) != 2 {
		t.Errorf("headers: %v, from %v and %v", got.Headers, headers, spec.Headers)
	}
	if got.Name != "billing" || got.URL != "http://localhost" || got.Source != "/s" || len(got.Secrets) != 0 || !got.QuotedIdempotencyKey ||
		got.Timeout != time.Second || got.MaxInFlight != 4 || got.Retry != (outbox.RetryPolicy{MaxAttempts: 9, Base: time.Second}) ||
		got.MaxAge != -1 || got.Breaker.FailureThreshold != 1 || got.Breaker.RecoveryTime != time.Minute || len(got.Allow) != 0 {
		t.Errorf("got %+v", got)
	}
	if same := (Config{}).Or(spec); fmt.Sprint(same) != fmt.Sprint(spec) {
		t.Errorf("got %+v, want %+v", same, spec)
	}
}
