package intake

import (
	"archive/tar"
	"fmt"
	"io"
	"math"
)

// MaxTarHeader bounds the headers of a file in a tar file, in bytes. The library makes a value of each five of them.
const MaxTarHeader = 64 << 10

// ErrTarHeader says that the headers of a file have more than [MaxTarHeader].
var ErrTarHeader = fmt.Errorf("the headers of a file have more than %d KiB", MaxTarHeader>>10)

// Tar reads a tar file whose headers are bounded.
type Tar struct {
	*tar.Reader
	from *io.LimitedReader
}

// NewTar returns a reader of a tar file.
func NewTar(r io.Reader) *Tar {
	from := &io.LimitedReader{R: r}
	return &Tar{tar.NewReader(from), from}
}

// Next is [tar.Reader.Next], which reads the headers of the next file. Contents of the one before that nobody has read count as headers: to
// pass over those of a sparse file could take forever.
func (t *Tar) Next() (*tar.Header, error) {
	t.from.N = MaxTarHeader
	header, err := t.Reader.Next()
	if t.from.N <= 0 {
		return nil, ErrTarHeader
	}
	t.from.N = math.MaxInt64
	return header, err
}
