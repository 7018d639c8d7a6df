package provider

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
)

type digests struct {
	ContentMd5          string `husk:"contentMd5" doc:"The MD5 of the content, in hexadecimal."`
	ContentSha1         string `husk:"contentSha1" doc:"The SHA-1 of the content, in hexadecimal."`
	ContentSha256       string `husk:"contentSha256" doc:"The SHA-256 of the content, in hexadecimal."`
	ContentBase64Sha256 string `husk:"contentBase64sha256" doc:"The SHA-256 of the content, in base64."`
	ContentSha512       string `husk:"contentSha512" doc:"The SHA-512 of the content, in hexadecimal."`
	ContentBase64Sha512 string `husk:"contentBase64sha512" doc:"The SHA-512 of the content, in base64."`
}

func digestNames() []string {
	return []string{"contentMd5", "contentSha1", "contentSha256", "contentBase64sha256", "contentSha512", "contentBase64sha512"}
}

// digester computes all digests of its input.
type digester struct{ md5, sha1, sha256, sha512 hash.Hash }

func newDigester() digester {
	return digester{md5.New(), sha1.New(), sha256.New(), sha512.New()}
}

func (d digester) Write(p []byte) (int, error) {
	return io.MultiWriter(d.md5, d.sha1, d.sha256, d.sha512).Write(p)
}

func (d digester) digests() digests {
	sum256, sum512 := d.sha256.Sum(nil), d.sha512.Sum(nil)
	return digests{
		ContentMd5:          hex.EncodeToString(d.md5.Sum(nil)),
		ContentSha1:         hex.EncodeToString(d.sha1.Sum(nil)),
		ContentSha256:       hex.EncodeToString(sum256),
		ContentBase64Sha256: base64.StdEncoding.EncodeToString(sum256),
		ContentSha512:       hex.EncodeToString(sum512),
		ContentBase64Sha512: base64.StdEncoding.EncodeToString(sum512),
	}
}

func digestsOf(content []byte) digests {
	d := newDigester()
	d.Write(content)
	return d.digests()
}
