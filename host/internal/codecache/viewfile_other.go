//go:build !unix

package codecache

import "os"

// viewFile passes on the content of a file, which must not be kept.
func viewFile(path string, view func([]byte) error) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return view(content)
}
