package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image is a program for containers, with the programs that it starts.
type image struct {
	name string
	// programs are the names of files of archives, the first of which a container runs.
	programs []string
}

// images are the images of a release.
var images = []image{
	{"husk-server", []string{serverName}},
	{"husk-worker", []string{"husk", fullName}},
}

// imageUser is the user of the programs, which has no name or right elsewhere either. imageHome is the one directory of an image that
// they write to, beside /tmp: containers mount something there.
const (
	imageUser = 65532
	imageHome = "/var/lib/husk"
)

var user = strconv.Itoa(imageUser)

// The JSON of the image format of the Open Container Initiative, version 1.1.
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int64             `json:"size"`
		Annotations map[string]string `json:"annotations,omitempty"`
		Platform    *ociPlatform      `json:"platform,omitempty"`
	}
	ociPlatform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	ociIndex struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	ociManifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	ociImage struct {
		Created time.Time `json:"created"`
		ociPlatform
		Config  ociConfig    `json:"config"`
		RootFS  ociRootFS    `json:"rootfs"`
		History []ociHistory `json:"history"`
	}
	ociConfig struct {
		User       string            `json:"User"`
		Env        []string          `json:"Env"`
		Entrypoint []string          `json:"Entrypoint"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	}
	ociRootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	ociHistory struct {
		Created   time.Time `json:"created"`
		CreatedBy string    `json:"created_by"`
	}
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
	refName      = "org.opencontainers.image.ref.name"
)

// layout is an OCI layout that is written to a tar archive, which tools for registries and container engines read. It begins with
// the file oci-layout; its blobs follow, and its index ends it.
type layout struct {
	w    *tar.Writer
	made time.Time
	has  map[string]bool
}

func (l *layout) file(name string, data []byte) error {
	if err := l.w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: l.made, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err := l.w.Write(data)
	return err
}

// blob writes a blob unless it is there, and returns its descriptor.
func (l *layout) blob(mediaType string, data []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: digestOf(data), Size: int64(len(data))}
	if l.has[d.Digest] {
		return d, nil
	}
	l.has[d.Digest] = true
	return d, l.file("blobs/"+strings.Replace(d.Digest, ":", "/", 1), data)
}

func (l *layout) json(mediaType string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return l.blob(mediaType, data)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// writeImage writes an image for several processors of Linux. It has the programs and documents of their archives, and the
// certificates that the programs trust: there is nothing else in a container.
func writeImage(w io.Writer, im image, version string, byProcessor []platformContents, made time.Time) error {
	l := &layout{w: tar.NewWriter(w), made: made, has: make(map[string]bool)}
	if err := l.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	base, err := baseLayer(made)
	if err != nil {
		return err
	}
	of := ociIndex{SchemaVersion: 2, MediaType: indexType}
	labels := map[string]string{
		"org.opencontainers.image.title": im.name, "org.opencontainers.image.version": version, "org.opencontainers.image.source": "https://" + modulePath,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	for _, p := range byProcessor {
		programs, err := packLayer(made, func(t *tarLayer) {
			for _, c := range p.all {
				if slices.Contains(im.programs, c.name) || c.name == "LICENSE" || c.name == thirdPartyFile {
					t.file(strings.TrimPrefix(place(c.name), "/"), int64(c.mode), c.data)
				}
			}
		})
		if err != nil {
			return err
		}
		config := ociImage{
			Created: made, ociPlatform: ociPlatform{p.processor, "linux"}, RootFS: ociRootFS{Type: "layers"},
			Config: ociConfig{
				User: user + ":" + user, Env: []string{"PATH=/usr/bin", "HOME=" + imageHome}, Entrypoint: []string{"/usr/bin/" + im.programs[0]}, WorkingDir: imageHome, Labels: labels,
			},
		}
		manifest := ociManifest{SchemaVersion: 2, MediaType: manifestType}
		for _, layer := range []*packedLayer{base, programs} {
			d, err := l.blob(layerType, layer.data)
			if err != nil {
				return err
			}
			manifest.Layers = append(manifest.Layers, d)
			config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, layer.diffID)
			config.History = append(config.History, ociHistory{made, "husk release " + version})
		}
		if manifest.Config, err = l.json(configType, config); err != nil {
			return err
		}
		d, err := l.json(manifestType, manifest)
		if err != nil {
			return err
		}
		d.Platform = &ociPlatform{p.processor, "linux"}
		of.Manifests = append(of.Manifests, d)
	}
	all, err := l.json(indexType, of)
	if err != nil {
		return err
	}
	all.Annotations = map[string]string{refName: strings.TrimPrefix(version, "v")}
	top, err := json.Marshal(ociIndex{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{all}})
	if err != nil {
		return err
	}
	return errors.Join(l.file("index.json", top), l.w.Close())
}

// platformContents are the files of an archive for a processor.
type platformContents struct {
	processor string
	all       []content
}

// baseLayer returns the first layer of all images.
func baseLayer(made time.Time) (*packedLayer, error) {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil { // a file cannot say what of it is not trusted
			continue
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return packLayer(made, func(t *tarLayer) {
		t.file("etc/passwd", 0o644, []byte("husk:x:"+user+":"+user+":husk:"+imageHome+":/nonexistent\n"))
		t.file("etc/group", 0o644, []byte("husk:x:"+user+":\n"))
		t.file("etc/ssl/certs/ca-certificates.crt", 0o644, roots.Bytes())
		t.directory("tmp", 0o1777, 0)
		t.directory(strings.TrimPrefix(imageHome, "/"), 0o700, imageUser)
	})
}

// packedLayer is a compressed layer, with the digest of the uncompressed one.
type packedLayer struct {
	data   []byte
	diffID string
}

// tarLayer writes files of a layer with the directories that they are in. The first error stays.
type tarLayer struct {
	w    *tar.Writer
	made time.Time
	has  map[string]bool
	err  error
}

func packLayer(made time.Time, fill func(*tarLayer)) (*packedLayer, error) {
	var plain, packed bytes.Buffer
	t := &tarLayer{w: tar.NewWriter(&plain), made: made, has: make(map[string]bool)}
	fill(t)
	if err := errors.Join(t.err, t.w.Close()); err != nil {
		return nil, err
	}
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(plain.Bytes())
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return &packedLayer{packed.Bytes(), digestOf(plain.Bytes())}, nil
}

func (t *tarLayer) add(h *tar.Header, data []byte) {
	if t.err != nil {
		return
	}
	h.ModTime, h.Format, h.Size = t.made, tar.FormatUSTAR, int64(len(data))
	if t.err = t.w.WriteHeader(h); t.err == nil {
		_, t.err = t.w.Write(data)
	}
}

func (t *tarLayer) directory(name string, mode int64, owner int) {
	if name == "." || t.has[name] {
		return
	}
	t.has[name] = true
	t.directory(path.Dir(name), 0o755, 0)
	t.add(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: owner, Gid: owner}, nil)
}

func (t *tarLayer) file(name string, mode int64, data []byte) {
	t.directory(path.Dir(name), 0o755, 0)
	t.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}, data)
}
