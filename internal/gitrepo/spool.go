package gitrepo

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

// spool is the temporary file of all Stages of a Store: it is there while any of them has
// something in it. Safe for concurrent use.
type spool struct {
	tails atomic.Int64 // bytes that Stages hold in memory

	mu     sync.Mutex
	file   *os.File
	users  int
	end    int64
	failed error // there can be no file, or no more of it: what is to be pushed stays in memory, of Stages begun meanwhile too
}

// extent is where a Stage's bytes from off on, as far as its next extent, are in the spool.
type extent struct{ off, at int64 }

// put writes a Stage's data and says where; join is for its first. The file is made in
// folder, where that can be written.
func (s *spool) put(data []byte, join bool, folder string) (at int64, err error) {
	s.mu.Lock()
	if s.failed == nil && s.file == nil {
		s.file, s.failed = spoolFile(folder)
	}
	if s.failed != nil {
		defer s.mu.Unlock()
		return 0, s.failed
	}
	if join {
		s.users++
	}
	f := s.file
	at, s.end = s.end, s.end+int64(len(data))
	s.mu.Unlock()
	if _, err = f.WriteAt(data, at); err == nil {
		return at, nil
	}
	s.mu.Lock()
	s.failed = err
	s.mu.Unlock()
	if join {
		err = errors.Join(err, s.leave())
	}
	return 0, err
}

// read reads what is there, and less where the file ends.
func (s *spool) read(into []byte, at int64) (int, error) {
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	return f.ReadAt(into, at)
}

// leave is for a Stage's end; the last one takes the file with it.
func (s *spool) leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	f := s.file
	s.file, s.end, s.failed = nil, 0, nil
	err := f.Close()
	_ = os.Remove(f.Name()) // where an open file cannot be removed
	return err
}

// spoolFile is a file that goes with the process.
func spoolFile(folder string) (f *os.File, err error) {
	if folder != "" {
		f, err = os.CreateTemp(folder, incoming)
	}
	if f == nil {
		f, err = os.CreateTemp("", "variform-stage-*")
	}
	if err == nil {
		_ = os.Remove(f.Name()) // Windows removes it when it is closed
	}
	return f, err
}
