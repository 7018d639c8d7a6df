package codecache

import "os"

// viewFile passes on the content of the file at a path, which must not be kept.
func viewFile(path string, use func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return view(file, use)
}
