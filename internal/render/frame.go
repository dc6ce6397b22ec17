package render

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// HelperCommand is the argument that makes a program the helper of a container:
// `PROGRAM <HelperCommand> ENTRYPOINT ARGUMENT…` calls Helper.
const HelperCommand = "container-helper"

// The kinds of frames that a helper writes. A frame is its kind, the length of
// its data as four bytes, and the data; lengths are big-endian.
const (
	frameReady  = 'r' // once, at the start: the helper works in this container
	frameStdout = 'o'
	frameStderr = 'e'
	frameExit   = 'x' // four bytes: the exit code; one: 1 where the container is as it was at the start
)

// A helper reads calls: the length of the input as eight bytes, and the input.
const callHeader = 8

// sendCall writes a call, and readCall reads it.
func sendCall(w io.Writer, input []byte) error {
	_, err := w.Write(binary.BigEndian.AppendUint64(nil, uint64(len(input))))
	if err == nil {
		_, err = w.Write(input)
	}
	return err
}

func readCall(in io.Reader) (*bytes.Buffer, error) {
	var head [callHeader]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	var input bytes.Buffer
	_, err := io.CopyN(&input, in, int64(binary.BigEndian.Uint64(head[:])))
	return &input, err
}

// The exit codes of engines and shells for a missing program, and for one that a
// signal ended, to which the signal's number is added.
const (
	notStarted = 127
	signalled  = 128
)

// frames writes frames, also from several goroutines.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) send(kind byte, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := append([]byte{kind}, binary.BigEndian.AppendUint32(nil, uint32(len(data)))...)
	if _, err := f.w.Write(head); err != nil {
		return err
	}
	_, err := f.w.Write(data)
	return err
}

// frameWriter is one of the two output streams of a function.
type frameWriter struct {
	to   *frames
	kind byte
}

func (w frameWriter) Write(b []byte) (int, error) {
	for part := range slices.Chunk(b, maxFrame) {
		if err := w.to.send(w.kind, part); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// readFrame reads one frame. What runs in a container is not trusted: data
// beyond limit is an error before anything is allocated for it.
func readFrame(r io.Reader, limit int) (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if int64(n) > int64(limit) {
		return 0, nil, fmt.Errorf("a frame of %d bytes, at most %d are read", n, limit)
	}
	data = make([]byte, n)
	_, err = io.ReadFull(r, data)
	return head[0], data, err
}

// maxFrame bounds one frame: what is longer is sent in parts.
const maxFrame = 1 << 20

// readAnswer collects the frames of one call.
func readAnswer(r io.Reader) (processOutput, bool, error) {
	stdout, stderr := limited{}, limited{keep: maxMessages}
	for {
		kind, data, err := readFrame(r, maxFrame)
		if err == nil {
			switch kind {
			case frameStdout:
				_, err = stdout.Write(data)
			case frameStderr:
				_, err = stderr.Write(data)
			case frameExit:
				out := processOutput{stdout: stdout.Bytes(), stderr: stderr.String()}
				var clean bool
				out.exit, clean, err = readExit(data)
				return out, clean, err
			default:
				err = fmt.Errorf("an unknown frame %q", kind)
			}
		}
		if err != nil {
			return processOutput{stdout: stdout.Bytes(), stderr: stderr.String()}, false, err
		}
	}
}

// exitFrame is the data of frameExit.
func exitFrame(code int, clean bool) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(int32(code)))
	if clean {
		return append(b, 1)
	}
	return append(b, 0)
}

func readExit(data []byte) (code int, clean bool, err error) {
	if len(data) != 5 {
		return 0, false, fmt.Errorf("an exit frame of %d bytes", len(data))
	}
	return int(int32(binary.BigEndian.Uint32(data))), data[4] == 1, nil
}
