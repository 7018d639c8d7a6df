package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxMessage bounds a message, in bytes: documents of [source.MaxFileSize], in JSON.
	maxMessage = 64 << 20
	// maxHeader bounds a line of a header, in bytes. There are two kinds of them, of some 60.
	maxHeader = 4 << 10
)

// framing is a channel of messages with headers, as the Language Server Protocol has them. A length that an editor announces
// counts only as its bytes arrive. A message that is too large, or whose length is not known, is answered and passed over.
type framing struct {
	in     *bufio.Reader
	closer io.Closer // of in
	out    io.WriteCloser
	mu     sync.Mutex // of out
}

func newFraming(in io.Reader, out io.WriteCloser) *framing {
	// Standard input cannot be closed while somebody reads it, as at the end of a session.
	read, write := io.Pipe()
	go func() {
		_, err := io.Copy(write, in)
		write.CloseWithError(err)
	}()
	return &framing{in: bufio.NewReaderSize(read, maxHeader), closer: read, out: out}
}

// Send implements [channel.Channel].
func (f *framing) Send(message []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.out.Write(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(message), message))
	return err
}

// Close implements [channel.Channel].
func (f *framing) Close() error { return errors.Join(f.closer.Close(), f.out.Close()) }

// Recv implements [channel.Channel].
func (f *framing) Recv() ([]byte, error) {
	for {
		length, err := f.header()
		if err != nil {
			return nil, err
		}
		if length >= 0 && length <= maxMessage {
			message, err := f.message(length)
			if err == nil && bytes.HasPrefix(bytes.TrimLeft(message, " \t\r\n"), []byte("[")) {
				if err := f.refuse("a message is one request, answer, or notification, and not a list of them"); err != nil {
					return nil, err
				}
				continue
			}
			return message, err
		}
		problem := fmt.Sprintf("the message has %d bytes, and can have %d", length, maxMessage)
		if length < 0 {
			problem = "the message has no header Content-Length that is a number of bytes"
		}
		if err := f.refuse(problem); err != nil {
			return nil, err
		}
		if _, err := io.CopyN(io.Discard, f.in, max(0, length)); err != nil {
			return nil, err
		}
	}
}

// message reads a message. A long one gets its whole memory only after a first part has arrived.
func (f *framing) message(length int64) ([]byte, error) {
	const part = 1 << 20
	message := make([]byte, min(length, part))
	if _, err := io.ReadFull(f.in, message); err != nil || length <= part {
		return message, err
	}
	message = append(make([]byte, 0, length), message...)
	_, err := io.ReadFull(f.in, message[part:length])
	return message[:length], err
}

// refuse answers a message that is none.
func (f *framing) refuse(problem string) error {
	return f.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":%q}}`, problem))
}

// header returns the length of the next message, -1 if its header says none.
func (f *framing) header() (length int64, err error) {
	length = -1
	for {
		line, err := f.in.ReadSlice('\n')
		for full := err; errors.Is(full, bufio.ErrBufferFull); { // the rest of the line means nothing
			_, full = f.in.ReadSlice('\n')
			err = full
		}
		if err != nil {
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			return length, nil
		}
		name, value, _ := strings.Cut(text, ":")
		if !strings.EqualFold(name, "Content-Length") {
			continue
		}
		length = -1
		value = strings.TrimSpace(value)
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
			length = n
		} else if strings.Trim(value, "0123456789") == "" && value != "" {
			length = math.MaxInt64
		}
	}
}
