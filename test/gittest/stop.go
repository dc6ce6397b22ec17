package gittest

import (
	"io"
	"net/http"
)

// Stream is all bodies of one kind of request, or of the answers to it, one
// after the other.
type Stream struct {
	Kind   string
	Answer bool
}

// String is "push", or "answer to push".
func (s Stream) String() string {
	if s.Answer {
		return "answer to " + s.Kind
	}
	return s.Kind
}

// Passed is how many bytes of each stream have passed since ResetCounts.
func (s *Server) Passed() map[Stream]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[Stream]int64, len(s.passed))
	for k, n := range s.passed {
		out[k] = n
	}
	return out
}

// StopAt calls f, once, when n bytes of a stream have passed since ResetCounts
// and another is about to, and holds that connection meanwhile; no further byte
// passes on it. With f killing the client that is a client that died there: git
// receives those n bytes, then the end of its input, or has done its work and
// answers nobody. What the server serves on other connections goes on.
func (s *Server) StopAt(stream Stream, n int64, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = &stop{stream, n, f}
}

type stop struct {
	stream Stream
	at     int64
	f      func()
}

// meter counts the bytes of one body into its stream.
type meter struct {
	server *Server
	stream Stream
}

// admit says how many of n bytes may pass, and what to call then, if the rest
// may not.
func (m meter) admit(n int) (int, func()) {
	s := m.server
	s.mu.Lock()
	defer s.mu.Unlock()
	var f func()
	if s.stop != nil && s.stop.stream == m.stream && s.passed[m.stream]+int64(n) > s.stop.at {
		n = int(s.stop.at - s.passed[m.stream])
		f, s.stop = s.stop.f, nil
	}
	s.passed[m.stream] += int64(n)
	return n, f
}

type meteredReader struct {
	r io.Reader
	meter
	cut bool
}

func (m *meteredReader) Read(p []byte) (int, error) {
	if m.cut {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := m.r.Read(p)
	n, f := m.admit(n)
	if f == nil {
		return n, err
	}
	m.cut = true
	f()
	return n, io.ErrUnexpectedEOF
}

// meteredWriter swallows what may not pass, so that git ends in peace.
type meteredWriter struct {
	http.ResponseWriter
	meter
	cut bool
}

func (m *meteredWriter) Write(p []byte) (int, error) {
	if m.cut {
		return len(p), nil
	}
	n, f := m.admit(len(p))
	if f == nil {
		return m.ResponseWriter.Write(p)
	}
	m.cut = true
	_, _ = m.ResponseWriter.Write(p[:n])
	_ = http.NewResponseController(m.ResponseWriter).Flush()
	f()
	return len(p), nil
}

// Unwrap serves http.ResponseController.
func (m *meteredWriter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// end breaks the connection of an answer that was cut.
func (m *meteredWriter) end() {
	if m.cut {
		panic(http.ErrAbortHandler)
	}
}
