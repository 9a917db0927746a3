package breaker

type window struct{}
