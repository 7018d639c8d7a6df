package port

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// embedded is the source of the SDK and the adapters without comments, which each program has, so that it ports without a checkout
// and without a module proxy. A test compares it with the checkout, and writes it.
//
//go:embed sdk/*.tar.gz
var embedded embed.FS

// sdkArchives are the archives by what the paths of their files in a checkout begin with, the longest first.
var sdkArchives = []struct{ name, prefix string }{
	{"terraform", "guest-sdk/terraform/"}, {"pulumi", "guest-sdk/pulumi/"}, {"guest-sdk", "guest-sdk/"}, {"abi", "abi/"},
}

// embeddedSDK returns a directory of the cache with what the program has of the SDK.
func (b *porter) embeddedSDK() (string, error) {
	var key strings.Builder
	archives := make([][]byte, len(sdkArchives))
	for i, a := range sdkArchives {
		data, err := embedded.ReadFile("sdk/" + a.name + ".tar.gz")
		if err != nil {
			return "", err
		}
		archives[i] = data
		key.WriteString(short(string(data)))
	}
	return b.keep("kit", key.String(), func(to string) error {
		for i, data := range archives {
			err := unpackSDK(data, func(name string, text []byte) error {
				file := filepath.Join(to, filepath.FromSlash(name))
				return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
			})
			if err != nil {
				return fmt.Errorf("unpacking %s of the SDK: %w", sdkArchives[i].name, err)
			}
		}
		return nil
	})
}

// unpackSDK reads the files of an archive.
func unpackSDK(archive []byte, file func(name string, text []byte) error) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := file(path.Clean(header.Name), text); err != nil {
			return err
		}
	}
}

// withoutComments returns Go source without the comments that mean nothing to the compiler. Each line stays at its number.
func withoutComments(source []byte) []byte {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	var out []byte
	at := 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return append(out, source[at:]...)
		}
		if tok != token.COMMENT || strings.HasPrefix(text, "//go:") {
			continue
		}
		begin := file.Offset(pos)
		out = append(out, bytes.TrimRight(source[at:begin], " \t")...)
		if newlines := strings.Count(text, "\n"); newlines > 0 {
			out = append(out, strings.Repeat("\n", newlines)...)
		} else if text[1] == '*' {
			out = append(out, ' ')
		}
		at = begin + len(text)
	}
}
