// Package assets reads the contents of assets and archives that a provider was passed,
// wherever they are: texts, files, and URLs of the one who runs it. The host does the
// reading, and it takes no grant, but only what is an input of the call can be read, and
// only during the call. Of what was an input of an earlier one, and comes as an old value,
// there is the hash alone.
//
//	type BucketFileInputs struct {
//		Source property.Asset `husk:"source"`
//	}
//
//	func (BucketFile) Create(ctx context.Context, r guest.CreateRequest[BucketFileInputs]) (…) {
//		data, err := assets.Open(ctx, r.Inputs.Source)
//		if err != nil {
//			return …, err
//		}
//		defer data.Close()
//		…
//	}
//
// Everything is read as a stream: neither host nor provider have it in memory as a whole.
package assets
