package breaker

// Or returns c with its zero fields taken from defaults, the Window's as a
// whole: an override names only what it changes.
func (c Config) Or(defaults Config) Config {
	setDefault(&c.Name, defaults.Name)
	setDefault(&c.FailureThreshold, defaults.FailureThreshold)
	setDefault(&c.Window, defaults.Window)
	setDefault(&c.RecoveryTime, defaults.RecoveryTime)
	setDefault(&c.MaxRecoveryTime, defaults.MaxRecoveryTime)
	setDefault(&c.HalfOpenMaxCalls, defaults.HalfOpenMaxCalls)
	setDefault(&c.Lease, defaults.Lease)
	setDefault(&c.BaseBackoff, defaults.BaseBackoff)
	setDefault(&c.MaxBackoff, defaults.MaxBackoff)
	if c.Classify == nil {
		c.Classify = defaults.Classify
	}
	if c.OnTransition == nil {
		c.OnTransition = defaults.OnTransition
	}
	setDefault(&c.Logger, defaults.Logger)
	setDefault(&c.Detail, defaults.Detail)
	if c.Now == nil {
		c.Now = defaults.Now
	}
	if c.Random == nil {
		c.Random = defaults.Random
	}
	return c
}
