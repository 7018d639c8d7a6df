package s3

import (
	"encoding/json"
	"os"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// leftHead is this machine's memory of a head, as its last lease left it.
type leftHead struct {
	Key     string `json:"key"`
	Version string `json:"version"`
	Head    head   `json:"head"`
}

func (b *bucket) headFile(name state.StackName) (file, key string) {
	key = b.place + "/" + headKey(name)
	return b.file("head-", key), key
}

// remember keeps a head that a lease has left, or forgets it if the next holder has to finish something first.
func (b *bucket) remember(c *current) {
	file, key := b.headFile(c.name)
	if !c.Body.Present || c.Body.Lease != nil || c.Pending != nil || c.Body.isOpen("") {
		_ = os.Remove(file)
		return
	}
	text, err := json.Marshal(leftHead{key, c.version, c.head})
	if err == nil && os.MkdirAll(b.dir, 0o700) == nil {
		_ = atomicfile.WriteUnsynced(file, text, 0o600) // without it, the head is read first
	}
}

// remembered returns the head of a stack as this machine has left it, nil if that is not known. Others may have changed it.
func (b *bucket) remembered(name state.StackName) *current {
	file, key := b.headFile(name)
	text, err := os.ReadFile(file)
	var left leftHead
	if err != nil || json.Unmarshal(text, &left) != nil || left.Key != key || left.Version == ifAbsent || left.Version == unconditional || left.Head.Format != format {
		return nil
	}
	return &current{head: left.Head, name: name, version: left.Version}
}
