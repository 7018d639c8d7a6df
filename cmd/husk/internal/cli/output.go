package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/display"
)

// Say writes a remark for people, which is never part of a result. Arguments may be text of strangers.
func (a *App) Say(format string, args ...any) {
	fmt.Fprintf(a.Errs, format+"\n", escapeArgs(args)...)
}

// Remark writes a remark of several lines.
func (a *App) Remark(text string) { fmt.Fprintln(a.Errs, display.EscapeLines(text)) }

// Printf writes a result. Arguments may be text of strangers.
func (a *App) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format, escapeArgs(args)...)
	return Writing(err)
}

// escapeArgs returns arguments whose texts fit on one line and control no terminal.
func escapeArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			arg = v.String()
		}
		switch v := arg.(type) {
		case string:
			out[i] = display.Escape(v)
		case error, fmt.Stringer:
			out[i] = display.Escape(fmt.Sprint(v))
		default:
			out[i] = arg
		}
	}
	return out
}

// Write writes a result: as it is to programs, escaped to a terminal.
func (a *App) Write(data []byte) error {
	if a.Out.IsTerminal() {
		_, err := a.Out.Write([]byte(display.EscapeLines(string(data))))
		return Writing(err)
	}
	return Writing(a.Out.WriteData(data))
}

// Writing returns an error of writing the output, with its context, or nil.
func Writing(err error) error {
	if err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}
	return nil
}

// ReadAll reads text from standard input, without the line end that an editor or echo adds.
func (a *App) ReadAll() (string, error) {
	data, err := io.ReadAll(a.In)
	if err != nil {
		return "", fmt.Errorf("reading standard input: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// Table writes rows of cells in columns. Cells may be text of strangers.
func (a *App) Table(rows [][]string) error {
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = display.Escape(cell)
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return Writing(t.Flush())
}

// Rows are the lines of a table of names and values.
type Rows [][]string

// Add adds a name with its values, one on each line. It leaves out empty values.
func (r *Rows) Add(name string, values ...string) {
	for _, v := range values {
		if v != "" {
			*r = append(*r, []string{name, v})
			name = ""
		}
	}
}

// WriteList writes a list: JSON to programs, a table to people. none is the remark for an empty list.
func WriteList[T any](a *App, list []T, none string, heading []string, row func(T) []string) error {
	if a.JSON {
		return a.WriteJSON(append([]T{}, list...))
	}
	if len(list) == 0 {
		if none != "" {
			a.Say("%s", none)
		}
		return nil
	}
	var rows [][]string
	if heading != nil {
		rows = append(rows, heading)
	}
	for _, item := range list {
		rows = append(rows, row(item))
	}
	return a.Table(rows)
}

// WriteJSON writes a result as JSON for programs, readable for people.
func (a *App) WriteJSON(v any) error { return a.WriteJSONBy(v, "  ") }

// WriteJSONBy writes a result as JSON with an indentation, in one line if that is empty.
func (a *App) WriteJSONBy(v any, indent string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(v)
	if err == nil {
		err = a.Out.WriteData(display.EscapeJSON(a.Secrets.InJSON(b.Bytes())))
	}
	return Writing(err)
}

// Plural returns a count of things in words.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// WriteModule writes a module to the file that the user named, or, if that is empty, to one with the provider's name: a link of that name,
// which may be somebody else's, is replaced and not followed. It returns the file.
func WriteModule(file, provider string, wasm []byte) (written string, err error) {
	byDefault := file == ""
	if byDefault {
		file = provider + ".wasm"
	}
	if info, statErr := os.Lstat(file); byDefault || statErr != nil || info.Mode().IsRegular() {
		err = atomicfile.Write(file, wasm, 0o644)
	} else {
		err = os.WriteFile(file, wasm, 0o644) // a link, or such as /dev/stdout
	}
	if err != nil {
		return "", fmt.Errorf("writing the module: %w", err)
	}
	return file, nil
}
