package inbox

import "sync"

// keyTable holds the keys that this process is applying now: their inbox
// rows are not committed, so that no other transaction can see them.
type keyTable struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

// begin takes key and reports whether it was free; the taker calls end.
func (t *keyTable) begin(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.keys[key]; taken {
		return false
	}
	if t.keys == nil {
		t.keys = make(map[string]struct{})
	}
	t.keys[key] = struct{}{}
	return true
}

func (t *keyTable) end(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.keys, key)
}
