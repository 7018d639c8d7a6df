//go:build !unix

package host

import "os"

// readAside calls a function with the content of a file.
func readAside(path string, use func(content []byte) error) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return use(content)
}
