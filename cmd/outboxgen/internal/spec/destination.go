package spec

import (
	"fmt"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook"
)

var destinationName = regexp.MustCompile(destinationNamePattern)

func (l *loader) readDestinations(n node) {
	entries, ok := l.entries(n, "destinations")
	if !ok {
		return
	}
	for _, e := range entries {
		if !destinationName.MatchString(e.key.Value) {
			l.errorf(e.key.pos(), ruleBadDestinationName, "a letter, then letters, digits and _ . -, at most 63", "%s cannot be the name of a destination", quoted(e.key))
			continue
		}
		d := l.readDestination(e)
		l.destinations[d.Name] = d
		l.spec.Destinations = append(l.spec.Destinations, d)
	}
}

func (l *loader) readDestination(e entry) *Destination {
	d := &Destination{
		Name: e.key.Value, GoName: GoName(e.key.Value), Pos: e.key.pos(),
		Timeout: outbox.DefaultTimeout, MaxInFlight: outbox.DefaultMaxInFlight,
		Retry:   Retry(outbox.DefaultRetry),
		Breaker: Breaker{FailureThreshold: breaker.DefaultFailureThreshold, RecoveryTime: breaker.DefaultRecoveryTime, HalfOpenMaxCalls: breaker.DefaultHalfOpenMaxCalls},
	}
	m, ok := l.mapping(e.value, d.Pos, &destinationObject, fmt.Sprintf("destination %q", d.Name))
	if !ok {
		return d
	}
	if n, ok := m.get("kind"); ok {
		kind, _ := l.word(n, m.in("kind"), string(Webhook), string(Handler), string(Publisher))
		d.Kind = Kind(kind)
	}
	l.describe(m, &d.Doc, nil)
	l.renameGo(m, &d.GoName)
	l.limits(m, d)
	l.webhook(m, d)
	return d
}

// describe reads doc and, where the object has it, deprecated.
func (l *loader) describe(m mapping, doc, deprecated *string) {
	if n, ok := m.get("doc"); ok {
		*doc, _ = l.text(n, m.in("doc"))
	}
	if n, ok := m.get("deprecated"); ok && deprecated != nil {
		*deprecated, _ = l.filled(n, m.in("deprecated"))
	}
}

// renameGo reads go_name.
func (l *loader) renameGo(m mapping, name *string) {
	n, ok := m.get("go_name")
	if !ok {
		return
	}
	s, ok := l.filled(n, m.in("go_name"))
	if !ok {
		return
	}
	if err := checkGoName(s); err != nil {
		l.errorf(n.pos(), ruleBadGoName, "a capital letter, then letters and digits", "%s: %v", m.in("go_name"), err)
		return
	}
	*name = s
}

func (l *loader) limits(m mapping, d *Destination) {
	if n, ok := m.get("timeout"); ok {
		d.Timeout, _ = l.duration(n, m.in("timeout"), time.Millisecond)
	}
	if n, ok := m.get("max_in_flight"); ok {
		d.MaxInFlight, _ = l.integer(n, m.in("max_in_flight"), 1, maxInFlightLimit)
	}
	if n, ok := m.get("max_age"); ok {
		d.MaxAge, _ = l.duration(n, m.in("max_age"), 0)
	}
	if n, ok := m.get("retry"); ok {
		l.retry(n, m.in("retry"), &d.Retry)
	}
	if n, ok := m.get("breaker"); ok {
		l.breaker(n, m.in("breaker"), &d.Breaker)
	}
}

func (l *loader) retry(n node, what string, retry *Retry) {
	m, ok := l.mapping(n, n.pos(), &retryObject, what)
	if !ok {
		return
	}
	valid := true
	if n, ok := m.get("max_attempts"); ok {
		retry.MaxAttempts, _ = l.integer(n, m.in("max_attempts"), 1, maxAttemptsLimit)
	}
	if n, ok := m.get("base"); ok {
		retry.Base, ok = l.duration(n, m.in("base"), time.Millisecond)
		valid = valid && ok
	}
	if n, ok := m.get("cap"); ok {
		retry.Cap, ok = l.duration(n, m.in("cap"), time.Millisecond)
		valid = valid && ok
	}
	if valid && retry.Base > retry.Cap {
		l.errorf(n.pos(), ruleBadRange, "", "%s: base %s is longer than cap %s", what, retry.Base, retry.Cap)
	}
}

func (l *loader) breaker(n node, what string, to *Breaker) {
	if n.isText("off") {
		*to = Breaker{Off: true}
		return
	}
	m, ok := l.mapping(n, n.pos(), &breakerObject, what)
	if !ok {
		return
	}
	if n, ok := m.get("failure_threshold"); ok {
		to.FailureThreshold, _ = l.integer(n, m.in("failure_threshold"), 1, breakerLimit)
	}
	if n, ok := m.get("recovery_time"); ok {
		to.RecoveryTime, _ = l.duration(n, m.in("recovery_time"), time.Millisecond)
	}
	if n, ok := m.get("half_open_max_calls"); ok {
		to.HalfOpenMaxCalls, _ = l.integer(n, m.in("half_open_max_calls"), 1, breakerLimit)
	}
}

// webhook reads the keys that only a webhook has.
func (l *loader) webhook(m mapping, d *Destination) {
	if d.Kind != Webhook {
		for _, key := range webhookKeys {
			if e, ok := m.entries[key]; ok && d.Kind != "" {
				l.errorf(e.key.pos(), ruleNotForKind, "", "%s has kind %s; %s is for a webhook", m.what, d.Kind, key)
			}
		}
		return
	}
	w := &WebhookOptions{}
	d.Webhook = w
	if n, ok := m.get("url"); ok {
		w.URL = l.url(n, m.in("url"))
	} else {
		l.errorf(m.at, ruleMissingKey, "as in url: ${BILLING_URL}", "%s has no %q", m.what, "url")
	}
	if n, ok := m.get("secrets"); ok {
		w.Secrets = l.secrets(n, m)
	} else {
		l.warnf(d.Pos, ruleUnsigned, "as in secrets: [\"${BILLING_SECRET}\"]", "%s has no secrets: its requests are not signed, and a receiver cannot tell them from anybody's", m.what)
	}
	if n, ok := m.get("headers"); ok {
		w.Headers = l.headers(n, m.in("headers"))
	}
	if n, ok := m.get("allow"); ok {
		w.Allow = l.allow(n, m.in("allow"))
	}
	if n, ok := m.get("quoted_idempotency_key"); ok {
		w.QuotedIdempotency = l.boolean(n, m.in("quoted_idempotency_key"))
	}
}

var (
	variable        = regexp.MustCompile(variablePattern)
	secretReference = regexp.MustCompile(secretPattern)
)

// variables reports a ${ that begins no ${NAME}.
func (l *loader) variables(n node, s, what string) bool {
	if strings.Contains(variable.ReplaceAllString(s, ""), "${") {
		l.errorf(n.pos(), ruleBadVariable, "${NAME} with letters, digits and _, as in ${BILLING_URL}", "%s has a ${ that is no variable", what)
		return false
	}
	return true
}

func (l *loader) url(n node, what string) string {
	s, ok := l.filled(n, what)
	if !ok || !l.variables(n, s, what) {
		return ""
	}
	refuse := func(hint, why string) string {
		// The URL may hold a credential: it is not shown.
		l.errorf(n.pos(), ruleBadURL, hint, "%s %s", what, why)
		return ""
	}
	u, err := url.Parse(withoutVariables(s))
	switch {
	case err != nil || !visibleASCII(s):
		return refuse("as in https://billing.example/hooks", "is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("", "does not begin with https:// or http://")
	case u.User != nil && literalUser(s):
		return l.literalSecret(n, what+" has a user name or password")
	case u.Hostname() == "":
		return refuse("", "has no host")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return refuse("", "has a fragment, which is never sent")
	}
	if port := u.Port(); port != "" {
		if p, err := strconv.Atoi(port); err != nil || p < 1 || p > 65535 {
			return refuse("", "has no port between 1 and 65535")
		}
	}
	if _, query, found := strings.Cut(s, "?"); found {
		for pair := range strings.SplitSeq(query, "&") {
			if name, value, _ := strings.Cut(pair, "="); secretName(name) && value != "" && !strings.Contains(value, "${") {
				return l.literalSecret(n, fmt.Sprintf("%s has %q", what, name))
			}
		}
	}
	return s
}

// literalUser reports a user name or password that is not all variables.
func literalUser(s string) bool {
	_, authority, _ := strings.Cut(s, "://")
	authority, _, _ = strings.Cut(authority, "/")
	user := authority[:max(strings.LastIndexByte(authority, '@'), 0)]
	return strings.Trim(variable.ReplaceAllString(user, ""), ":") != ""
}

// withoutVariables gives every variable a harmless value, so that what is
// written around them can be checked.
func withoutVariables(s string) string {
	if loc := variable.FindStringIndex(s); loc != nil && loc[0] == 0 {
		if strings.HasPrefix(s[loc[1]:], "://") {
			s = "https" + s[loc[1]:]
		} else {
			s = "https://host" + s[loc[1]:]
		}
	}
	return variable.ReplaceAllString(s, "1")
}

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"secret", "token", "password", "passwd", "apikey", "api_key", "api-key", "signature", "authorization", "cookie", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "sig" || name == "key"
}

func (l *loader) literalSecret(n node, what string) string {
	l.errorf(n.pos(), ruleLiteralSecret, "write ${VAR}, which is read when the program starts", "%s in plain text: everybody who can read the spec can read it", what)
	return ""
}

func (l *loader) secrets(n node, m mapping) []string {
	nodes, ok := l.list(n, m.in("secrets"))
	if !ok {
		return nil
	}
	if len(nodes) == 0 {
		l.errorf(n.pos(), ruleMissingValue, "leave the key out to send without a signature", "%s is an empty list", m.in("secrets"))
	}
	var out []string
	for _, n := range nodes {
		s, ok := l.filled(n, "a secret of "+m.what)
		switch {
		case !ok:
		case !secretReference.MatchString(s):
			l.literalSecret(n, "a secret of "+m.what+" is")
		case slices.Contains(out, s):
			l.errorf(n.pos(), ruleTwice, "", "%s has %s twice", m.in("secrets"), s)
		default:
			out = append(out, s)
		}
	}
	return out
}

func (l *loader) headers(n node, what string) []Header {
	entries, ok := l.entries(n, what)
	if !ok {
		return nil
	}
	var out []Header
	for _, e := range entries {
		written := e.key.Value
		name := textproto.CanonicalMIMEHeaderKey(written)
		value, ok := l.text(e.value, fmt.Sprintf("header %q", written))
		switch {
		case webhook.CheckHeader(written, "") != nil:
			l.errorf(e.key.pos(), ruleBadHeader, "", "%s: %v", what, webhook.CheckHeader(written, ""))
		case slices.ContainsFunc(out, func(h Header) bool { return h.Name == name }):
			l.errorf(e.key.pos(), ruleTwice, "", "%s have %s twice", what, name)
		case !ok || !l.variables(e.value, value, fmt.Sprintf("header %q", written)):
		case webhook.CheckHeader(written, value) != nil:
			l.errorf(e.value.pos(), ruleBadHeader, "", "%s: %v", what, webhook.CheckHeader(written, value))
		case secretName(name) && value != "" && !strings.Contains(value, "${"), strings.Contains(value, "whsec_"), strings.Contains(value, "whsk_"):
			l.literalSecret(e.value, fmt.Sprintf("header %q is", written))
		default:
			out = append(out, Header{name, value})
		}
	}
	slices.SortFunc(out, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (l *loader) allow(n node, what string) []string {
	nodes, ok := l.list(n, what)
	if !ok {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, n := range nodes {
		s, ok := l.filled(n, what)
		if !ok {
			continue
		}
		prefix, err := netip.ParsePrefix(s)
		switch {
		case seen[s]:
			l.errorf(n.pos(), ruleTwice, "", "%s has %s twice", what, s)
		case err != nil:
			hint := "as in 10.0.0.0/8 or fd00::/8"
			if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
				hint = fmt.Sprintf("did you mean %s/%d?", addr, addr.BitLen())
			}
			l.errorf(n.pos(), ruleBadRangeCIDR, hint, "%s: %q is no address range", what, s)
		case prefix != prefix.Masked():
			l.errorf(n.pos(), ruleBadRangeCIDR, fmt.Sprintf("did you mean %s?", prefix.Masked()), "%s: %s has bits beyond its length", what, s)
		default:
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}
