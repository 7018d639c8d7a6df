package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// ErrMalformed is an encoded image that is none.
var ErrMalformed = errors.New("the image is malformed")

// Encode writes an image that was not derived: its size, the number of its runs, where
// they begin and how long they are, and their content. Numbers have 8 bytes, the least
// first. A run is of whole pages that are not all zeros.
func (i *Image) Encode(w io.Writer) error {
	var failure error
	err := i.View(func(content []byte) {
		var runs [][2]uint64
		for at := uint64(0); at < uint64(len(content)); at += PageSize {
			if bytes.Equal(content[at:at+PageSize], zeros[:]) {
				continue
			}
			if last := len(runs) - 1; last >= 0 && runs[last][0]+runs[last][1] == at {
				runs[last][1] += PageSize
			} else {
				runs = append(runs, [2]uint64{at, PageSize})
			}
		}
		head := binary.LittleEndian.AppendUint64(nil, i.size)
		head = binary.LittleEndian.AppendUint64(head, uint64(len(runs)))
		for _, run := range runs {
			head = binary.LittleEndian.AppendUint64(head, run[0])
			head = binary.LittleEndian.AppendUint64(head, run[1])
		}
		_, failure = w.Write(head)
		for _, run := range runs {
			if failure == nil {
				_, failure = w.Write(content[run[0] : run[0]+run[1]])
			}
		}
	})
	return errors.Join(err, failure)
}

// Decode reads an image of at most so many bytes that Encode has written.
func Decode(r io.Reader, limit uint64) (*Image, error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size, count := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
	if size > limit || size%WasmPage != 0 || count > size/PageSize {
		return nil, ErrMalformed
	}
	runs := make([]byte, 16*count)
	if _, err := io.ReadFull(r, runs); err != nil {
		return nil, err
	}
	return Make(size, func(memory []byte) error {
		for ; len(runs) > 0; runs = runs[16:] {
			at, n := binary.LittleEndian.Uint64(runs), binary.LittleEndian.Uint64(runs[8:])
			if at > size || n > size-at {
				return ErrMalformed
			}
			if _, err := io.ReadFull(r, memory[at:at+n]); err != nil {
				return err
			}
		}
		return nil
	})
}
