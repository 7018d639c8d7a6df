package provider

import (
	"context"
	"encoding/base64"
	"path"
	"strconv"
	"unicode/utf8"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type getFileArgs struct {
	Path string `husk:"path" doc:"Where the file is, with forward slashes; relative to the project's directory, or absolute."`
}

type getFileResult struct {
	getFileArgs
	Content        *string `husk:"content" doc:"The content; absent where it is not text (UTF-8)."`
	ContentBase64  string  `husk:"contentBase64" doc:"The content, in base64."`
	FilePermission string  `husk:"filePermission" doc:"The file's permission bits, octal."`
	digests
}

func getFile(ctx context.Context, args getFileArgs) (getFileResult, error) {
	var result getFileResult
	cleaned, reason := cleanFilePath(args.Path)
	if reason != "" {
		return result, guest.InvalidArgument("path", reason)
	}
	found, err := readFile(ctx, cleaned)
	if err != nil {
		return result, access{path: cleaned, property: "path", directory: path.Dir(cleaned)}.explain(ctx, err)
	}
	if found.tooLarge {
		return result, guest.InvalidArgument("path", show(cleaned)+" has "+strconv.FormatInt(found.size, 10)+
			" bytes; at most "+strconv.Itoa(maxContent)+" can be read")
	}
	result = getFileResult{
		getFileArgs: args, ContentBase64: base64.StdEncoding.EncodeToString(found.content),
		FilePermission: formatPermission(found.mode), digests: found.digests,
	}
	if utf8.Valid(found.content) {
		text := string(found.content)
		result.Content = &text
	}
	return result, nil
}
