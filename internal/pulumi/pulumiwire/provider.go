package pulumiwire

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// This file has the requests and responses of Pulumi's ResourceProvider service. A function Read… reads a
// message, and Write… fills one. Both directions are here: Husk serves modules to Pulumi, and calls
// Pulumi's providers.

// identity reads what requests about a resource begin with. Engines of before 3.127 send the URN alone.
func identity(in Message) (u urn.URN, name, typ string) {
	u = urn.URN(in.Text("urn"))
	return u, cmp.Or(in.Text("name"), u.Name()), cmp.Or(in.Text("type"), u.Type())
}

func setIdentity(out Message, u urn.URN, name, typ string) {
	out.Set("urn", string(u))
	out.Set("name", name)
	out.Set("type", typ)
}

// ReadCheck reads a request of Check or CheckConfig. Pulumi sends empty old inputs where there are none.
func ReadCheck(in Message) (req abi.CheckRequest, err error) {
	req.URN, req.Name, req.Type = identity(in)
	req.RandomSeed = in.Bytes("randomSeed")
	if in.Has("autonaming") {
		a := in.Message("autonaming")
		req.Autonaming = &abi.Autonaming{ProposedName: a.Text("proposed_name"), Mode: abi.AutonamingMode(a.Enum("mode"))}
	}
	olds, err := in.Properties("olds")
	if err != nil {
		return req, err
	}
	if olds.Len() > 0 {
		req.Olds = &olds
	}
	req.News, err = in.Properties("news")
	return req, err
}

func WriteCheck(out Message, req abi.CheckRequest) {
	setIdentity(out, req.URN, req.Name, req.Type)
	var olds property.Map
	if req.Olds != nil {
		olds = *req.Olds
	}
	out.SetProperties("olds", olds)
	out.SetProperties("news", req.News)
	out.Set("randomSeed", req.RandomSeed)
	if a := req.Autonaming; a != nil {
		options := out.Make("autonaming")
		options.Set("proposed_name", a.ProposedName)
		options.SetEnum("mode", protoreflect.EnumNumber(a.Mode))
	}
}

func ReadChecked(in Message) (resp abi.CheckResponse, err error) {
	resp.Failures = readFailures(in)
	resp.Inputs, err = in.Properties("inputs")
	return resp, err
}

func WriteChecked(out Message, resp abi.CheckResponse) {
	out.SetProperties("inputs", resp.Inputs)
	writeFailures(out, resp.Failures)
}

func readFailures(in Message) (failures []abi.CheckFailure) {
	for _, f := range in.Messages("failures") {
		failures = append(failures, abi.CheckFailure{Path: pathOf(f.Text("property")), Reason: f.Text("reason")})
	}
	return failures
}

func writeFailures(out Message, failures []abi.CheckFailure) {
	for _, f := range failures {
		failure := out.Add("failures")
		failure.Set("property", f.Path)
		failure.Set("reason", f.Reason)
	}
}

// pathOf returns a path as Husk has it: a text that is none is the name of a property.
func pathOf(text string) string {
	if text == "" || isPath(text) {
		return text
	}
	return property.Path{property.Key(text)}.String()
}

func isPath(text string) bool {
	_, err := property.ParsePath(text)
	return text != "" && err == nil
}

// ReadDiff reads a request of Diff or DiffConfig.
func ReadDiff(in Message) (req abi.DiffRequest, err error) {
	req.URN, req.Name, req.Type = identity(in)
	req.ID, req.IgnoreChanges = in.Text("id"), in.Texts("ignoreChanges")
	return req, readAll(in, field{"olds", &req.Olds}, field{"news", &req.News}, field{"old_inputs", &req.OldInputs})
}

// field is a field of properties, and where to put them.
type field struct {
	name string
	to   *property.Map
}

func readAll(in Message, fields ...field) (err error) {
	for _, f := range fields {
		if *f.to, err = in.Properties(f.name); err != nil {
			return err
		}
	}
	return nil
}

func WriteDiff(out Message, req abi.DiffRequest) {
	setIdentity(out, req.URN, req.Name, req.Type)
	out.Set("id", req.ID)
	out.SetProperties("olds", req.Olds)
	out.SetProperties("news", req.News)
	out.SetProperties("old_inputs", req.OldInputs)
	out.SetTexts("ignoreChanges", req.IgnoreChanges)
}

func ReadDifference(in Message) (resp abi.DiffResponse) {
	resp = abi.DiffResponse{
		Changes: abi.DiffChanges(in.Enum("changes")), DeleteBeforeReplace: in.Bool("deleteBeforeReplace"),
		ReplaceKeys: keysOf(in.Texts("replaces")), StableKeys: keysOf(in.Texts("stables")), ChangedKeys: keysOf(in.Texts("diffs")),
		HasDetailedDiff: in.Bool("hasDetailedDiff"),
	}
	in.EachEntry("detailedDiff", func(path string, v protoreflect.Value) {
		d := Message{v.Message()}
		resp.DetailedDiff = append(resp.DetailedDiff, abi.PropertyDiff{Path: pathOf(path), Kind: abi.DiffKind(d.Enum("kind")), InputDiff: d.Bool("inputDiff")})
	})
	slices.SortFunc(resp.DetailedDiff, func(a, b abi.PropertyDiff) int { return cmp.Compare(a.Path, b.Path) })
	return resp
}

// WriteDifference fills a response of Diff. In Husk's contract a detailed diff stands for the lists of
// keys; Pulumi's engine decides by the lists, so they are completed from it.
func WriteDifference(out Message, resp abi.DiffResponse) {
	changed, replaces := resp.ChangedKeys, resp.ReplaceKeys
	if resp.HasDetailedDiff {
		changed, replaces = nil, nil
		d := out.Field("detailedDiff")
		for _, difference := range resp.DetailedDiff {
			changed = append(changed, difference.Path)
			switch difference.Kind {
			case abi.DiffKindAddReplace, abi.DiffKindDeleteReplace, abi.DiffKindUpdateReplace:
				replaces = append(replaces, difference.Path)
			}
			if d == nil {
				continue
			}
			entries := out.Reflect.Mutable(d).Map()
			v := entries.NewValue()
			Message{v.Message()}.SetEnum("kind", protoreflect.EnumNumber(difference.Kind))
			Message{v.Message()}.Set("inputDiff", difference.InputDiff)
			entries.Set(protoreflect.ValueOfString(difference.Path).MapKey(), v)
		}
	}
	out.SetEnum("changes", protoreflect.EnumNumber(resp.Changes))
	out.Set("deleteBeforeReplace", resp.DeleteBeforeReplace)
	out.Set("hasDetailedDiff", resp.HasDetailedDiff)
	out.SetTexts("diffs", keysOf(changed))
	out.SetTexts("replaces", keysOf(replaces))
	out.SetTexts("stables", resp.StableKeys)
}

// keysOf returns the top-level properties of paths, each once. Some providers answer paths where the
// protocol has keys.
func keysOf(paths []string) []string {
	var keys []string
	seen := map[string]bool{}
	for _, text := range paths {
		key := text
		if path, err := property.ParsePath(text); err == nil && len(path) > 0 {
			if first, ok := path[0].Key(); ok {
				key = first
			}
		}
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// ReadConfigure reads a request of Configure. The deprecated field with texts is left out.
func ReadConfigure(in Message) (req abi.ConfigureRequest, err error) {
	req.URN, req.Name, req.Type = identity(in)
	req.ID = in.Text("id")
	req.Inputs, err = in.Properties("args")
	return req, err
}

// ReadCreate reads a request of Create.
func ReadCreate(in Message) (req abi.CreateRequest, err error) {
	req.URN, req.Name, req.Type = identity(in)
	req.Timeout, req.Preview = in.Number("timeout"), in.Bool("preview")
	req.Inputs, err = in.Properties("properties")
	return req, err
}

func WriteCreate(out Message, req abi.CreateRequest) {
	setIdentity(out, req.URN, req.Name, req.Type)
	out.SetProperties("properties", req.Inputs)
	out.Set("timeout", req.Timeout)
	out.Set("preview", req.Preview)
}

// ReadCreated reads a response of Create, with the readable parts of its state.
func ReadCreated(in Message) (resp abi.CreateResponse, faults []Fault) {
	resp.ID, resp.RefreshBeforeUpdate = in.Text("id"), in.Bool("refresh_before_update")
	resp.State, faults = in.Readable("properties")
	return resp, faults
}

func WriteCreated(out Message, resp abi.CreateResponse) {
	out.Set("id", resp.ID)
	out.SetProperties("properties", resp.State)
	out.Set("refresh_before_update", resp.RefreshBeforeUpdate)
}

// ReadRead reads a request of Read. Pulumi sends an empty state for an import.
func ReadRead(in Message) (req abi.ReadRequest, err error) {
	req.URN, req.Name, req.Type = identity(in)
	req.ID, req.Timeout = in.Text("id"), in.Number("timeout")
	if req.Inputs, err = in.OptionalProperties("inputs"); err != nil {
		return req, err
	}
	state, err := in.Properties("properties")
	if req.Inputs != nil || state.Len() > 0 {
		req.State = &state
	}
	return req, err
}

func WriteRead(out Message, req abi.ReadRequest) {
	setIdentity(out, req.URN, req.Name, req.Type)
	out.Set("id", req.ID)
	var state property.Map
	if req.State != nil {
		state = *req.State
	}
	out.SetProperties("properties", state)
	if req.Inputs != nil {
		out.SetProperties("inputs", *req.Inputs)
	}
	out.Set("timeout", req.Timeout)
}

func ReadFound(in Message) (resp abi.ReadResponse, err error) {
	resp.ID, resp.RefreshBeforeUpdate = in.Text("id"), in.Bool("refresh_before_update")
	if resp.State, err = in.Properties("properties"); err != nil {
		return resp, err
	}
	resp.Inputs, err = in.OptionalProperties("inputs")
	return resp, err
}

func WriteFound(out Message, resp abi.ReadResponse) {
	out.Set("id", resp.ID)
	out.Set("refresh_before_update", resp.RefreshBeforeUpdate)
	out.SetProperties("properties", resp.State)
	if resp.Inputs != nil {
		out.SetProperties("inputs", *resp.Inputs)
	}
}

// ReadUpdate reads a request of Update.
func ReadUpdate(in Message) (req abi.UpdateRequest, err error) {
	req.URN, req.Name, req.Type = identity(in)
	req.ID, req.IgnoreChanges = in.Text("id"), in.Texts("ignoreChanges")
	req.Timeout, req.Preview = in.Number("timeout"), in.Bool("preview")
	return req, readAll(in, field{"olds", &req.Olds}, field{"news", &req.News}, field{"old_inputs", &req.OldInputs})
}

func WriteUpdate(out Message, req abi.UpdateRequest) {
	setIdentity(out, req.URN, req.Name, req.Type)
	out.Set("id", req.ID)
	out.SetProperties("olds", req.Olds)
	out.SetProperties("news", req.News)
	out.SetProperties("old_inputs", req.OldInputs)
	out.SetTexts("ignoreChanges", req.IgnoreChanges)
	out.Set("timeout", req.Timeout)
	out.Set("preview", req.Preview)
}

// ReadUpdated reads a response of Update, with the readable parts of its state.
func ReadUpdated(in Message) (resp abi.UpdateResponse, faults []Fault) {
	resp.RefreshBeforeUpdate = in.Bool("refresh_before_update")
	resp.State, faults = in.Readable("properties")
	return resp, faults
}

func WriteUpdated(out Message, resp abi.UpdateResponse) {
	out.SetProperties("properties", resp.State)
	out.Set("refresh_before_update", resp.RefreshBeforeUpdate)
}

// ReadDelete reads a request of Delete.
func ReadDelete(in Message) (req abi.DeleteRequest, err error) {
	req.URN, req.Name, req.Type = identity(in)
	req.ID, req.Timeout = in.Text("id"), in.Number("timeout")
	return req, readAll(in, field{"properties", &req.State}, field{"old_inputs", &req.OldInputs})
}

func WriteDelete(out Message, req abi.DeleteRequest) {
	setIdentity(out, req.URN, req.Name, req.Type)
	out.Set("id", req.ID)
	out.SetProperties("properties", req.State)
	out.SetProperties("old_inputs", req.OldInputs)
	out.Set("timeout", req.Timeout)
}

// ReadInvoke reads a request of the provider's Invoke, and ReadInvoked its response.
func ReadInvoke(in Message) (req abi.InvokeRequest, err error) {
	req.Token, req.Preview = in.Text("tok"), in.Bool("preview")
	req.Args, err = in.Properties("args")
	return req, err
}

func WriteInvoke(out Message, req abi.InvokeRequest) {
	out.Set("tok", req.Token)
	out.SetProperties("args", req.Args)
	out.Set("preview", req.Preview)
}

func ReadInvoked(in Message) (resp abi.InvokeResponse, err error) {
	resp.Failures = readFailures(in)
	resp.Result, err = in.Properties("return")
	return resp, err
}

// ReadList reads a request of List.
func ReadList(in Message) (req abi.ListRequest, err error) {
	req.Token, req.ContinuationToken = in.Text("token"), in.Text("continuation_token")
	req.Limit, req.PageSize = uint64(max(in.Int("limit"), 0)), uint64(max(in.Int("page_size"), 0))
	req.Query, err = in.Properties("query")
	return req, err
}

func WriteList(out Message, req abi.ListRequest) {
	out.Set("token", req.Token)
	out.SetProperties("query", req.Query)
	out.Set("limit", int64(min(req.Limit, 1<<62)))
	out.Set("page_size", int64(min(req.PageSize, 1<<62)))
	out.Set("continuation_token", req.ContinuationToken)
}

// ReadParameters reads a request of Parameterize.
func ReadParameters(in Message) abi.Parameters {
	if in.Has("args") {
		return abi.Parameters{Case: abi.ParametersCaseArgs, Args: in.Message("args").Texts("args")}
	}
	if value := parameters(in, "value"); value != nil {
		return *value
	}
	return abi.Parameters{Case: abi.ParametersCaseArgs}
}

func WriteParameters(out Message, p abi.Parameters) {
	if p.Case == abi.ParametersCaseArgs {
		out.Make("args").SetTexts("args", p.Args)
		return
	}
	writeParameters(out, "value", p.Value)
}

func writeParameters(out Message, field string, p abi.ParameterValue) {
	value := out.Make(field)
	value.Set("name", p.Name)
	value.Set("version", p.Version)
	value.Set("value", p.Value)
}
