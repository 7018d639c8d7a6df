// Package trust verifies who signed a module, and says whose modules may run.
//
// Signatures are sigstore bundles (https://docs.sigstore.dev/about/bundle/): signed by a key that the user knows, or by an
// identity to which an authority issued a certificate, such as a workflow of a forge. All of it is verified offline, against keys
// and [Root]s that the user has. The authorities, logs, and formats are sigstore's; the code has only the parts that verification
// needs.
package trust

import "errors"

// The limits on input, in bytes and numbers.
const (
	// BundleLimit bounds a bundle, in bytes. Bundles of a signature have some 10 kB; those with an SBOM have more.
	BundleLimit = 4 << 20
	// rootLimit bounds a file of trusted roots.
	rootLimit = 4 << 20
	// allowance is the memory that a short text may take besides a multiple of its size, in bytes.
	allowance = 64 << 10
	// listLimit bounds the entries, timestamps, and certificates of a bundle.
	listLimit = 32
)

// ErrSignature is the error for a signature that is wrong, or not by whom it should be.
var ErrSignature = errors.New("the signature is not valid")
