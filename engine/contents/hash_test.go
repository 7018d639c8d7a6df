package contents_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
)

func text(s string) property.Asset { return property.Asset{Source: property.SourceText, Text: s} }

func literal(members map[string]any) property.Archive {
	var m property.Map
	for name, member := range members {
		switch member := member.(type) {
		case property.Asset:
			m = m.With(name, property.AssetOf(member))
		case property.Archive:
			m = m.With(name, property.ArchiveOf(member))
		}
	}
	return property.Archive{Source: property.SourceAssets, Assets: m}
}

func file(path string) property.Asset {
	return property.Asset{Source: property.SourcePath, Path: path}
}

func packed(path string) property.Archive {
	return property.Archive{Source: property.SourcePath, Path: path}
}

// write makes files in a directory, by their slash-separated names.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
	}
}

// The hashes are those of Pulumi's own tests (sdk/go/common/resource/asset_test.go).
func TestHashesArePulumis(t *testing.T) {
	const (
		emptyFile = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		lorem     = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna\naliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. Duis\naute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur sint\noccaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est laborum.\n\n"
		butIMust  = "Sed ut perspiciatis, unde omnis iste natus error sit voluptatem accusantium doloremque laudantium, totam rem\naperiam eaque ipsa, quae ab illo inventore veritatis et quasi architecto beatae vitae dicta sunt, explicabo. Nemo enim\nipsam voluptatem, quia voluptas sit, aspernatur aut odit aut fugit, sed quia consequuntur magni dolores eos, qui ratione\nvoluptatem sequi nesciunt, neque porro quisquam est, qui dolorem ipsum, quia dolor sit amet consectetur adipisci[ng]\nvelit, sed quia non numquam [do] eius modi tempora inci[di]dunt, ut labore et dolore magnam aliquam quaerat voluptatem.\nUt enim ad minima veniam, quis nostrum exercitationem ullam corporis suscipit laboriosam, nisi ut aliquid ex ea commodi\nconsequatur? Quis autem vel eum iure reprehenderit, qui in ea voluptate velit esse, quam nihil molestiae consequatur,\nvel illum, qui dolorem eum fugiat, quo voluptas nulla pariatur?\n\n"
		onTheHand = "At vero eos et accusamus et iusto odio dignissimos ducimus, qui blanditiis praesentium voluptatum deleniti atque\ncorrupti, quos dolores et quas molestias excepturi sint, obcaecati cupiditate non provident, similique sunt in culpa,\nqui officia deserunt mollitia animi, id est laborum et dolorum fuga. Et harum quidem rerum facilis est et expedita\ndistinctio. Nam libero tempore, cum soluta nobis est eligendi optio, cumque nihil impedit, quo minus id, quod maxime\nplaceat, facere possimus, omnis voluptas assumenda est, omnis dolor repellendus. Temporibus autem quibusdam et aut\nofficiis debitis aut rerum necessitatibus saepe eveniet, ut et voluptates repudiandae sint et molestiae non recusandae.\nItaque earum rerum hic tenetur a sapiente delectus, ut aut reiciendis voluptatibus maiores alias consequatur aut\nperferendis doloribus asperiores repellat…\n\n"
	)
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"empty": "", "empty.tar": "",
		"Fox.txt":                               "The quick brown 🦊 jumps over\nthe lazy 🐶.  The quick brown\nasset jumps over the archive.\n\n",
		"test_dir/Lorem_ipsum.txt":              lorem,
		"test_dir/sub_dir/But_I_must":           butIMust,
		"test_dir/sub_dir/On_the_other_hand.md": onTheHand,
	})
	source := contents.Source{Dir: dir}
	for name, tc := range map[string]struct {
		asset property.Asset
		want  string
	}{
		"text":       {text("a test asset"), "e34c74529110661faae4e121e57165ff4cb4dbdde1ef9770098aa3695e6b6704"},
		"other text": {text("a very different and special test asset"), "9a6ed070e1ff834427105844ffd8a399a634753ce7a60ec5aae541524bbe7036"},
		"empty text": {text(""), emptyFile},
		"empty file": {file("empty"), emptyFile},
		"file":       {file("Fox.txt"), "85e5f2698ac92d10d50e2f2802ed0d51a13e7c81d0d0a5998a75349469e774c5"},
		"file URL": {property.Asset{Source: property.SourceURI, URI: "file://" + filepath.ToSlash(dir) + "/Fox.txt"},
			"85e5f2698ac92d10d50e2f2802ed0d51a13e7c81d0d0a5998a75349469e774c5"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := source.HashAsset(t.Context(), tc.asset)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	for name, tc := range map[string]struct {
		archive property.Archive
		want    string
	}{
		"no assets":     {literal(nil), "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
		"a text":        {literal(map[string]any{"foo": text("a test asset")}), "27ab4a14a617df10cff3e1cf4e30cf510302afe56bf4cc91f84041c9f7b62fd8"},
		"an empty file": {literal(map[string]any{"foo": file("empty")}), "d2587a875f82cdf3d3e6cfe9f8c6e6032be5dde8c344466e664e628da15757b0"},
		"tar file":      {packed("empty.tar"), emptyFile},
		"directory":     {packed("test_dir"), "489e9a9dad271922ecfbda590efc40e48788286a06bd406a357ab8d13f0b6abf"},
		"directory in an archive": {literal(map[string]any{".": packed("test_dir")}),
			"489e9a9dad271922ecfbda590efc40e48788286a06bd406a357ab8d13f0b6abf"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := source.HashArchive(t.Context(), tc.archive)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}
