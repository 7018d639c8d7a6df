package linuxcalls

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// NoCall is how the text of ENOSYS begins.
const NoCall = "the sandbox of Husk has no such system call: not implemented on "

// replacements are changes of the library for WebAssembly that its source for Linux cannot tell.
var replacements = []struct{ file, before, after string }{
	{"tables_wasip1.go", `"Not implemented on "`, strconv.Quote(NoCall)},
	{"syscall_wasip1.go", "type Signal uint8\n", "type Signal int\n"}, // -1 stands for none
	{
		"fs_wasip1.go", "func setDefaultMode(st *Stat_t) {\n", "func setDefaultMode(st *Stat_t) {\n\tst.Atim.setTimestamp(st.Atime)\n" +
			"\tst.Mtim.setTimestamp(st.Mtime)\n\tst.Ctim.setTimestamp(st.Ctime)\n\tst.Blocks = int64((st.Size + 511) / 512)\n",
	},
}

// foreign is added to numbers of errors and signals that WASI does not have, because WASI numbers others in its own way.
const foreign = 0x1000

// library are the two kinds of the package syscall.
type library struct {
	dir         string
	here, linux *declarations
	hereSources []*source
	// done are the names that are declared, out what declares them, and imports what that needs.
	done    map[string]bool
	out     []string
	imports map[string]bool
	inserts map[*source]edits
}

func readLibrary(root string) (*library, error) {
	l := &library{
		dir: filepath.Join(root, "src", "syscall"), done: map[string]bool{}, imports: map[string]bool{}, inserts: map[*source]edits{},
	}
	var err error
	if l.hereSources, err = read(l.dir, system, processor); err != nil {
		return nil, err
	}
	linux, err := read(l.dir, "linux", like)
	if err != nil {
		return nil, err
	}
	l.here, l.linux = declarationsOf(l.hereSources), declarationsOf(linux)
	return l, nil
}

// Library returns files of Go's library in a directory, by their names below src: the package syscall for WebAssembly with its
// declarations on Linux. The types that both have get the fields that are missing.
func Library(root string) (map[string]string, error) {
	l, err := readLibrary(root)
	if err != nil {
		return nil, err
	}
	for _, name := range l.linux.sorted() {
		if token.IsExported(name) {
			l.need(name)
		}
	}
	l.complete()
	var text strings.Builder
	text.WriteString("package syscall\n\n")
	for _, path := range slices.Sorted(maps.Keys(l.imports)) {
		fmt.Fprintf(&text, "import %q\n", path)
	}
	for _, one := range l.out {
		text.WriteString("\n" + one + "\n")
	}
	texts := map[string]string{"syscall/husk_wasip1.go": text.String()}
	for _, s := range l.hereSources {
		name, changed := filepath.Base(s.path), l.inserts[s].apply(s.text)
		for _, r := range replacements {
			if r.file != name {
				continue
			}
			if strings.Count(changed, r.before) != 1 {
				return nil, fmt.Errorf("its syscall/%s does not have %q exactly once", r.file, strings.TrimSpace(r.before))
			}
			changed = strings.Replace(changed, r.before, r.after, 1)
		}
		if changed != s.text {
			texts[path.Join("syscall", name)] = changed
		}
	}
	return texts, nil
}

// need declares a name of Linux that WebAssembly lacks, with the names that its declaration needs.
func (l *library) need(name string) {
	d, known := l.linux.names[name]
	if _, here := l.here.names[name]; !known || here || l.done[name] {
		return
	}
	l.done[name] = true
	switch node := d.node.(type) {
	case *ast.FuncDecl:
		l.function(d.in, node)
	case *ast.TypeSpec:
		l.declare(d.in, "type ", node)
		for _, m := range l.linux.methods[name] {
			l.function(m.in, m.node.(*ast.FuncDecl))
		}
	case *ast.ValueSpec:
		if d.kind == token.CONST {
			if d.value != nil {
				of := ""
				if node.Type != nil {
					of = " " + d.in.of(node.Type)
				}
				l.out = append(l.out, "const "+name+of+" = "+l.constant(name, d))
				l.uses(d.in, node)
			}
			return
		}
		for _, other := range node.Names {
			l.done[other.Name] = true
		}
		l.declare(d.in, "var ", node)
	}
}

func (l *library) declare(in *source, keyword string, node ast.Node) {
	l.out = append(l.out, keyword+in.of(node))
	l.uses(in, node)
}

// function declares a function as it is, or one that always fails if it can fail and has no answer.
func (l *library) function(in *source, f *ast.FuncDecl) {
	if f.Body != nil && !fails(f, in) {
		l.declare(in, "", f)
		return
	}
	head := in.text[in.at(f.Type.Pos()):in.at(f.Type.End())]
	l.out = append(l.out, head+" "+cmp.Or(answer(f), refusal(f, in, "ENOSYS")))
	l.uses(in, f.Type)
	if f.Recv != nil {
		l.uses(in, f.Recv)
	}
}

// uses declares what a node names.
func (l *library) uses(in *source, node ast.Node) {
	for _, path := range in.imports(node) {
		l.imports[path] = true
	}
	ast.Inspect(node, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			l.need(name.Name)
		}
		return true
	})
}

// constant returns the value of a constant of Linux.
func (l *library) constant(name string, d declared) string {
	value := d.in.of(d.value)
	kind, number := numbered(d)
	switch {
	case kind != "": // of an error or signal
		for _, other := range l.here.sorted() {
			if k, n := numbered(l.linux.names[other]); k == kind && n == number {
				return other // another name for a call of WASI
			}
		}
		return fmt.Sprintf("%s(%#x)", kind, foreign+number)
	case strings.HasPrefix(name, "O_"):
		flag, err := strconv.ParseInt(value, 0, 64)
		for other, h := range l.here.names {
			if taken, ok := literal(h); ok && err == nil && strings.HasPrefix(other, "O_") && taken&flag != 0 {
				return "0" // means another flag to WASI, and has no meaning to it
			}
		}
	}
	return value
}

// numbered returns the type and number of a constant such as Errno(0xb).
func numbered(d declared) (kind string, number int64) {
	call, ok := d.value.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return "", 0
	}
	kind = d.in.of(call.Fun)
	number, err := strconv.ParseInt(d.in.of(call.Args[0]), 0, 64)
	if err != nil || kind != "Errno" && kind != "Signal" {
		return "", 0
	}
	return kind, number
}

// literal returns the number that a constant is.
func literal(d declared) (int64, bool) {
	if d.value == nil {
		return 0, false
	}
	number, err := strconv.ParseInt(d.in.of(d.value), 0, 64)
	return number, err == nil
}

// complete adds fields to the types of WebAssembly that Linux has more fields of.
func (l *library) complete() {
	for _, name := range l.here.sorted() {
		here, ours := l.here.names[name], structOf(l.here.names[name])
		linux, theirs := l.linux.names[name], structOf(l.linux.names[name])
		if ours == nil || theirs == nil || !token.IsExported(name) {
			continue
		}
		has := map[string]bool{}
		for _, field := range ours.Fields.List {
			for _, n := range field.Names {
				has[n.Name] = true
			}
		}
		var added strings.Builder
		for _, field := range theirs.Fields.List {
			for _, n := range field.Names {
				if token.IsExported(n.Name) && !has[n.Name] {
					added.WriteString("\t" + n.Name + " " + linux.in.of(field.Type) + "\n")
					l.uses(linux.in, field.Type)
				}
			}
		}
		if added.Len() > 0 {
			at := here.in.at(ours.Fields.Closing)
			l.inserts[here.in] = append(l.inserts[here.in], edit{at, at, "\n" + added.String()})
		}
	}
}

// structOf returns the fields of a type, nil if it has none.
func structOf(d declared) *ast.StructType {
	spec, ok := d.node.(*ast.TypeSpec)
	if !ok {
		return nil
	}
	fields, _ := spec.Type.(*ast.StructType)
	return fields
}
