package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// run is some pages of an image, and where they lie in it.
type run struct {
	offset uint64
	data   []byte
}

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

// Decode reads an image of at most so many bytes that Encode has written, and keeps nothing of
// what it reads.
func Decode(encoded []byte, limit uint64) (*Image, error) {
	const head = 16
	if len(encoded) < head {
		return nil, ErrMalformed
	}
	size, count := binary.LittleEndian.Uint64(encoded), binary.LittleEndian.Uint64(encoded[8:])
	if size > limit || size%WasmPage != 0 || count > size/PageSize || uint64(len(encoded)-head) < head*count {
		return nil, ErrMalformed
	}
	table, data := encoded[head:head+head*count], encoded[head+head*count:]
	runs := make([]run, count)
	end := uint64(0)
	for i := range runs {
		at, n := binary.LittleEndian.Uint64(table[head*i:]), binary.LittleEndian.Uint64(table[head*i+8:])
		if at < end || at%PageSize != 0 || n%PageSize != 0 || at > size || n > size-at || n > uint64(len(data)) {
			return nil, ErrMalformed
		}
		runs[i] = run{at, data[:n]}
		end, data = at+n, data[n:]
	}
	c, err := newContentOf(size, runs)
	if err != nil {
		return nil, err
	}
	return &Image{size: size, base: c, owns: true}, nil
}
