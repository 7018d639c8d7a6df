// Package getter has what the first plugin SDK names of go-getter. Nothing is downloaded.
package getter

import (
	"context"
	"errors"
	"net/http"
	"os"
)

var errNothing = errors.New("a provider in a module downloads neither plugins nor Terraform's modules")

type (
	Detector     interface{}
	Decompressor interface{}
	Getter       interface{}
	ClientMode   uint
)

const (
	ClientModeInvalid ClientMode = iota
	ClientModeAny
	ClientModeFile
	ClientModeDir
)

type (
	Bzip2Decompressor    struct{}
	GzipDecompressor     struct{}
	XzDecompressor       struct{}
	ZipDecompressor      struct{}
	TarBzip2Decompressor struct{}
	TarGzipDecompressor  struct{}
	TarXzDecompressor    struct{}
)

type (
	FileGetter struct{}
	GCSGetter  struct{}
	GitGetter  struct{}
	HgGetter   struct{}
	S3Getter   struct{}
	HttpGetter struct {
		Client *http.Client
		Netrc  bool
	}
)

// Client describes a download.
type Client struct {
	Ctx           context.Context
	Src, Dst, Pwd string
	Mode          ClientMode
	Detectors     []Detector
	Decompressors map[string]Decompressor
	Getters       map[string]Getter
}

var (
	Detectors []Detector
	Getters   = map[string]Getter{}
)

func (*ZipDecompressor) Decompress(dst, src string, dir bool, umask ...os.FileMode) error {
	return errNothing
}

func (*Client) Get() error { return errNothing }

func Get(dst, src string) error { return errNothing }

func Detect(src, pwd string, ds []Detector) (string, error) { return "", errNothing }

func SubdirGlob(dst, subDir string) (string, error) { return "", errNothing }

// SourceDirSubdir returns the source without a directory in it, because nothing uses the source.
func SourceDirSubdir(src string) (string, string) { return src, "" }
