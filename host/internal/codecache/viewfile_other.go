//go:build !unix

package codecache

import (
	"io"
	"math"
	"os"
)

// view passes on the content of a file, which must not be kept.
func view(file *os.File, use func([]byte) error) error {
	content, err := io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64))
	if err != nil {
		return err
	}
	return use(content)
}
