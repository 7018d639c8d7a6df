package lsp

import (
	"encoding/json"
	"errors"
)

// These are the parts of the Language Server Protocol 3.17 that the server uses, by the names that it gives them.

type position struct {
	Line int `json:"line"`
	// Character counts UTF-16 code units.
	Character int `json:"character"`
}

// UnmarshalJSON implements [json.Unmarshaler]. It refuses numbers that cannot be a place in a document. One behind the end of a
// line, or of the document, is that end (see [document.within]).
func (p *position) UnmarshalJSON(data []byte) error {
	var given struct{ Line, Character *int64 }
	if err := json.Unmarshal(data, &given); err != nil {
		return err
	}
	if given.Line == nil || given.Character == nil || *given.Line < 0 || *given.Character < 0 {
		return errors.New("a position has a line and a character, from 0 on")
	}
	const end = 1 << 30
	*p = position{Line: int(min(*given.Line, end)), Character: int(min(*given.Character, end))}
	return nil
}

func (p position) before(q position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Character < q.Character
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// UnmarshalJSON implements [json.Unmarshaler]. It refuses a range whose end is before its start.
func (s *span) UnmarshalJSON(data []byte) error {
	var given struct{ Start, End *position }
	if err := json.Unmarshal(data, &given); err != nil {
		return err
	}
	if given.Start == nil || given.End == nil || given.End.before(*given.Start) {
		return errors.New("a range has a start, and an end that is not before it")
	}
	s.Start, s.End = *given.Start, *given.End
	return nil
}

func (s span) overlaps(t span) bool { return !s.End.before(t.Start) && !t.End.before(s.Start) }

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type textDocument struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
	Text    string `json:"text"`
}

// documentParams are the parameters of notifications about a document.
type documentParams struct {
	TextDocument   textDocument `json:"textDocument"`
	ContentChanges []struct {
		// Range is nil for a change of the whole text.
		Range *span  `json:"range"`
		Text  string `json:"text"`
	} `json:"contentChanges"`
}

// positionParams are the parameters of requests about a place.
type positionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
	// NewName is the new name of a rename.
	NewName string `json:"newName"`
	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

type initializeParams struct {
	Capabilities struct {
		Window struct {
			WorkDoneProgress bool `json:"workDoneProgress"`
		} `json:"window"`
	} `json:"capabilities"`
}

type cancelParams struct {
	// ID is a number or a text, as the request has it.
	ID json.RawMessage `json:"id"`
}

type rangeParams struct {
	TextDocument textDocument `json:"textDocument"`
	Range        span         `json:"range"`
}

type diagnostic struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

// The severities of a diagnostic.
const (
	severityError   = 1
	severityWarning = 2
)

type publishParams struct {
	URI string `json:"uri"`
	// Version is nil for a document that is not open.
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	IsPreferred bool          `json:"isPreferred"`
	Edit        workspaceEdit `json:"edit"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(text string) *markup {
	if text == "" {
		return nil
	}
	return &markup{"markdown", text}
}

type hoverResult struct {
	Contents *markup `json:"contents"`
	Range    span    `json:"range"`
}

// completionItem is a proposal.
type completionItem struct {
	Label         string   `json:"label"`
	Kind          int      `json:"kind"`
	Detail        string   `json:"detail,omitempty"`
	Documentation *markup  `json:"documentation,omitempty"`
	Tags          []int    `json:"tags,omitempty"`
	SortText      string   `json:"sortText,omitempty"`
	FilterText    string   `json:"filterText,omitempty"`
	TextEdit      textEdit `json:"textEdit"`
}

// The kinds of proposals.
const (
	kindFunction  = 3
	kindVariable  = 6
	kindClass     = 7
	kindModule    = 9
	kindProperty  = 10
	kindValue     = 12
	kindEnum      = 20
	kindFile      = 17
	kindReference = 18
	kindFolder    = 19
)

// tagDeprecated marks a proposal or a symbol as deprecated.
const tagDeprecated = 1

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          span             `json:"range"`
	SelectionRange span             `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

type symbolParams struct {
	Query string `json:"query"`
}

type workspaceSymbol struct {
	Name          string   `json:"name"`
	Kind          int      `json:"kind"`
	Location      location `json:"location"`
	ContainerName string   `json:"containerName,omitempty"`
}

// The kinds of symbols.
const (
	symbolNamespace = 3
	symbolFunction  = 12
	symbolVariable  = 13
	symbolObject    = 19
)

type foldingRange struct {
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Kind      string `json:"kind,omitempty"`
}

type documentHighlight struct {
	Range span `json:"range"`
	Kind  int  `json:"kind"`
}

// The kinds of highlights.
const (
	highlightRead  = 2
	highlightWrite = 3
)

type inlayHint struct {
	Position position `json:"position"`
	Label    string   `json:"label"`
	Kind     int      `json:"kind"`
}

// hintType is the kind of a hint about a type.
const hintType = 1

type semanticTokens struct {
	Data []int `json:"data"`
}

type documentLink struct {
	Range  span   `json:"range"`
	Target string `json:"target"`
}

type signatureHelp struct {
	Signatures      []signatureInformation `json:"signatures"`
	ActiveParameter int                    `json:"activeParameter"`
}

type signatureInformation struct {
	Label         string                 `json:"label"`
	Documentation *markup                `json:"documentation,omitempty"`
	Parameters    []parameterInformation `json:"parameters"`
}

type parameterInformation struct {
	// Label is a part of the label of the signature.
	Label         string  `json:"label"`
	Documentation *markup `json:"documentation,omitempty"`
}

type capabilities struct {
	PositionEncoding       string         `json:"positionEncoding"`
	TextDocumentSync       map[string]any `json:"textDocumentSync"`
	CompletionProvider     map[string]any `json:"completionProvider"`
	HoverProvider          bool           `json:"hoverProvider"`
	DefinitionProvider     bool           `json:"definitionProvider"`
	ReferencesProvider     bool           `json:"referencesProvider"`
	DocumentSymbolProvider bool           `json:"documentSymbolProvider"`
	RenameProvider         map[string]any `json:"renameProvider"`
	CodeActionProvider     map[string]any `json:"codeActionProvider"`

	DocumentFormattingProvider bool           `json:"documentFormattingProvider"`
	WorkspaceSymbolProvider    bool           `json:"workspaceSymbolProvider"`
	FoldingRangeProvider       bool           `json:"foldingRangeProvider"`
	DocumentHighlightProvider  bool           `json:"documentHighlightProvider"`
	SemanticTokensProvider     map[string]any `json:"semanticTokensProvider"`
	InlayHintProvider          bool           `json:"inlayHintProvider"`
	DocumentLinkProvider       map[string]any `json:"documentLinkProvider"`
	SignatureHelpProvider      map[string]any `json:"signatureHelpProvider"`
}

type initializeResult struct {
	Capabilities capabilities      `json:"capabilities"`
	ServerInfo   map[string]string `json:"serverInfo"`
}
