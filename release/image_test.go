package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// container unpacks an image for a processor as a container engine does, checking each digest, and returns the path of its program
// and its configuration.
func container(t *testing.T, archive, processor string) (program string, config ociConfig) {
	t.Helper()
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	files := map[string][]byte{}
	times := map[time.Time]bool{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.NotContains(t, files, h.Name)
		times[h.ModTime.UTC()] = true
		files[h.Name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
	require.JSONEq(t, `{"imageLayoutVersion": "1.0.0"}`, string(files["oci-layout"]))
	blob := func(d descriptor) []byte {
		data := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		require.Equal(t, d.Digest, digestOf(data))
		require.Equal(t, d.Size, int64(len(data)))
		return data
	}
	var top, of ociIndex
	require.NoError(t, json.Unmarshal(files["index.json"], &top))
	require.Len(t, top.Manifests, 1)
	require.NoError(t, json.Unmarshal(blob(top.Manifests[0]), &of))
	root := t.TempDir()
	for _, d := range of.Manifests {
		if *d.Platform != (ociPlatform{processor, "linux"}) {
			continue
		}
		var manifest ociManifest
		var image ociImage
		require.NoError(t, json.Unmarshal(blob(d), &manifest))
		require.NoError(t, json.Unmarshal(blob(manifest.Config), &image))
		require.Equal(t, *d.Platform, image.ociPlatform)
		require.Len(t, image.RootFS.DiffIDs, len(manifest.Layers))
		for i, layer := range manifest.Layers {
			z, err := gzip.NewReader(bytes.NewReader(blob(layer)))
			require.NoError(t, err)
			plain, err := io.ReadAll(z)
			require.NoError(t, err)
			require.Equal(t, image.RootFS.DiffIDs[i], digestOf(plain))
			for r := tar.NewReader(bytes.NewReader(plain)); ; {
				h, err := r.Next()
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				times[h.ModTime.UTC()] = true
				at := filepath.Join(root, filepath.FromSlash(h.Name))
				if h.Typeflag == tar.TypeDir {
					require.NoError(t, os.Mkdir(at, h.FileInfo().Mode()))
					continue
				}
				data, err := io.ReadAll(r)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(at, data, h.FileInfo().Mode()))
			}
		}
		require.Equal(t, map[time.Time]bool{image.Created: true}, times, "another run would make another image")
		require.Len(t, image.Config.Entrypoint, 1)
		return filepath.Join(root, filepath.FromSlash(image.Config.Entrypoint[0])), image.Config
	}
	require.Fail(t, "the image is not for "+processor)
	return "", ociConfig{}
}

// An image has a program that runs as a user without rights, and what it needs to trust others. The same files make the same image.
func TestImages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	made := time.Date(2026, 5, 4, 3, 2, 0, 0, time.UTC)
	files := func(program []byte) []content {
		return []content{{"husk", 0o755, []byte("another")}, {serverName, 0o755, program}, {"LICENSE", 0o644, []byte("licence")}, {"man/man1/husk.1", 0o644, []byte("page")}}
	}
	archive := func(all []content) []byte {
		var b bytes.Buffer
		require.NoError(t, writeImage(&b, images[0], testVersion, []platformContents{{"other", files([]byte("for another processor"))}, {runtime.GOARCH, all}}, made))
		return b.Bytes()
	}
	small := files([]byte("program"))
	require.Equal(t, archive(small), archive(small), "two images of the same files differ")
	one := archive(files(program))
	file := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, os.WriteFile(file, one, 0o600))
	other, _ := container(t, file, "other")
	data, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "for another processor", string(data))

	at, config := container(t, file, runtime.GOARCH)
	require.Contains(t, command(t, "", at, "-test.run=^$"), "PASS\n")
	require.Equal(t, "65532:65532", config.User)
	require.Equal(t, []string{"PATH=/usr/bin", "HOME=/var/lib/husk"}, config.Env)
	root := strings.TrimSuffix(at, "/usr/bin/"+serverName)
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			found = append(found, strings.TrimPrefix(path, root))
		}
		return err
	}))
	require.Equal(t, []string{"/etc/group", "/etc/passwd", "/etc/ssl/certs/ca-certificates.crt", "/usr/bin/husk-server", "/usr/share/doc/husk/copyright"}, found)
	info, err := os.Stat(filepath.Join(root, "tmp"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSticky)
	require.DirExists(t, filepath.Join(root, "var", "lib", "husk"))

	roots, err := os.ReadFile(filepath.Join(root, "etc", "ssl", "certs", "ca-certificates.crt"))
	require.NoError(t, err)
	n := 0
	for block, rest := pem.Decode(roots); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		require.True(t, certificate.IsCA)
		n++
	}
	require.Greater(t, n, 100)
}
