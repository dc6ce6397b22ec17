package observe

import "sync"

// memo computes a value once for each key, whoever asks first.
type memo[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*memoEntry[V]
}

type memoEntry[V any] struct {
	once  sync.Once
	value V
}

func (m *memo[K, V]) get(k K, compute func() V) V {
	m.mu.Lock()
	if m.entries == nil {
		m.entries = map[K]*memoEntry[V]{}
	}
	e := m.entries[k]
	if e == nil {
		e = &memoEntry[V]{}
		m.entries[k] = e
	}
	m.mu.Unlock()
	e.once.Do(func() { e.value = compute() })
	return e.value
}

// has says that somebody asked for a key.
func (m *memo[K, V]) has(k K) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[k] != nil
}
