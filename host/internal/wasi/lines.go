package wasi

import "bytes"

// maxLine is the longest line in bytes that [Lines] passes on in one piece.
const maxLine = 8 << 10

// Lines cuts a stream of output into lines. Its memory is bounded: a line beyond
// 8 KiB comes in pieces. The zero value with Emit set is ready; it serves one
// goroutine at a time.
type Lines struct {
	// Emit takes a line without its line break.
	Emit func(line string)

	partial []byte
}

// Write adds output.
func (l *Lines) Write(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		if room := maxLine - len(l.partial); len(piece) > room {
			l.partial = append(l.partial, piece[:room]...)
			p = p[room:]
			l.flush()
			continue
		}
		l.partial = append(l.partial, piece...)
		p = p[len(piece):]
		if end >= 0 {
			p = p[1:]
			l.flush()
		}
	}
}

// Ended reports whether the text so far ends with a line break.
func (l *Lines) Ended() bool { return len(l.partial) == 0 }

// Flush emits a last line that has no line break.
func (l *Lines) Flush() {
	if len(l.partial) > 0 {
		l.flush()
	}
}

func (l *Lines) flush() {
	line := string(bytes.TrimSuffix(l.partial, []byte{'\r'}))
	l.partial = l.partial[:0]
	l.Emit(line)
}
