package provider

import (
	"io/fs"
	"strconv"
)

// parsePermission reads permission bits as chmod does, such as 0644 or 644.
func parsePermission(text string) (mode fs.FileMode, reason string) {
	bits, err := strconv.ParseUint(text, 8, 16)
	if err != nil || len(text) < 3 || len(text) > 4 || bits > uint64(fs.ModePerm) {
		return 0, `expected three octal digits in quotes, such as "0644", not ` + strconv.Quote(text)
	}
	return fs.FileMode(bits), ""
}

// formatPermission returns the one form in which permissions are recorded: four digits.
func formatPermission(mode fs.FileMode) string {
	digits := strconv.FormatUint(uint64(mode.Perm()), 8)
	return "0000"[:4-len(digits)] + digits
}

// checkPermission brings a permission that is known into its recorded form.
func checkPermission(f *failures, name string, text *string, known bool) {
	if !known {
		return
	}
	mode, reason := parsePermission(*text)
	if reason != "" {
		f.add(name, reason)
		return
	}
	*text = formatPermission(mode)
}

func permission(text string) fs.FileMode {
	mode, _ := parsePermission(text)
	return mode
}
