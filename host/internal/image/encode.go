package image

import (
	"bytes"
	"errors"
	"io"

	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// run is some pages of an image, and where they lie in it.
type run struct {
	offset uint64
	data   []byte
}

// ErrMalformed is an encoded image that is none.
var ErrMalformed = errors.New("the image is malformed")

// head is in front of an encoded image's content.
type head struct {
	Size uint64
	Runs []extent
}

// extent is where a run lies: whole pages that are not all zeros.
type extent struct {
	_              struct{} `cbor:",toarray"`
	Offset, Length uint64
}

// Encode writes an image that was not derived: its head as CBOR, and behind it the content of its runs.
func (i *Image) Encode(w io.Writer) error {
	var failure error
	err := i.View(func(content []byte) {
		h := head{Size: i.size}
		for at := uint64(0); at < uint64(len(content)); at += PageSize {
			if bytes.Equal(content[at:at+PageSize], zeros[:]) {
				continue
			}
			if last := len(h.Runs) - 1; last >= 0 && h.Runs[last].Offset+h.Runs[last].Length == at {
				h.Runs[last].Length += PageSize
			} else {
				h.Runs = append(h.Runs, extent{Offset: at, Length: PageSize})
			}
		}
		var encoded []byte
		if encoded, failure = strictcbor.Marshal(h); failure == nil {
			_, failure = w.Write(encoded)
		}
		for _, run := range h.Runs {
			if failure == nil {
				_, failure = w.Write(content[run.Offset : run.Offset+run.Length])
			}
		}
	})
	return errors.Join(err, failure)
}

// Decode reads an image of at most so many bytes from Encode, and keeps nothing of them.
func Decode(encoded []byte, limit uint64) (*Image, error) {
	var h head
	data, err := strictcbor.UnmarshalFirst(encoded, &h)
	size := h.Size
	if err != nil || size > limit || size%WasmPage != 0 {
		return nil, ErrMalformed
	}
	runs := make([]run, len(h.Runs))
	end := uint64(0)
	for i, r := range h.Runs {
		at, n := r.Offset, r.Length
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
