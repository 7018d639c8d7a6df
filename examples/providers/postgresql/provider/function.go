package provider

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// FunctionArg is an argument of a function.
type FunctionArg struct {
	Type    string `husk:"type" doc:"The type, as SQL has it, for example numeric(10, 2)."`
	Name    string `husk:"name,optional" doc:"The name."`
	Mode    string `husk:"mode,default=IN,oneof=IN|OUT|INOUT|VARIADIC" doc:"Whether it is given, returned, or both."`
	Default string `husk:"default,optional" doc:"The expression that it is where it is not given, as SQL has it."`
}

// FunctionInputs are the inputs of postgresql:Function.
type FunctionInputs struct {
	Name            string        `husk:"name,autoname=63,replace" doc:"The function's name."`
	Database        string        `husk:"database,computed,replace" doc:"The database that it is in; the configured one where none is given."`
	Schema          string        `husk:"schema,default=public,replace" doc:"The schema that it is in."`
	Args            []FunctionArg `husk:"args,optional,replace" doc:"The arguments."`
	Returns         string        `husk:"returns,computed,replace" doc:"The type that it returns, as SQL has it; that of the arguments that it returns where none is given, or void."`
	Language        string        `husk:"language,default=plpgsql" doc:"The language of the body."`
	Body            string        `husk:"body" doc:"The body, without the quotes around it."`
	Parallel        string        `husk:"parallel,default=UNSAFE,oneof=UNSAFE|RESTRICTED|SAFE" doc:"Whether parts of a query that run in parallel may call it."`
	SecurityDefiner bool          `husk:"securityDefiner,default=false" doc:"Whether it has the rights of its owner, not those of who calls it."`
	Strict          bool          `husk:"strict,default=false" doc:"Whether it returns null where an argument is null."`
	Volatility      string        `husk:"volatility,default=VOLATILE,oneof=VOLATILE|STABLE|IMMUTABLE" doc:"Whether the same arguments give the same result, always or in one statement."`
	DropCascade     bool          `husk:"dropCascade,default=false" doc:"Whether to delete what depends on it, too."`
}

// FunctionState is the state of postgresql:Function.
type FunctionState struct {
	FunctionInputs
}

// Function implements postgresql:Function.
type Function struct{ server *server }

// Check takes quotes away from around the body, and refuses types and expressions that would not stay in their place in a
// statement.
func (Function) Check(_ context.Context, r guest.CheckRequest[FunctionInputs]) ([]guest.CheckFailure, error) {
	in := r.Inputs
	failures := checkName(in.Name)
	fail := func(path string) {
		failures = append(failures, guest.CheckFailure{Path: path, Reason: "is not one type or expression: its quotes and parentheses must be closed, and it can have no semicolon, dollar sign, backslash, or comment"})
	}
	if !isContained(in.Returns) {
		fail("returns")
	}
	if r.Known("args") {
		for n, arg := range in.Args {
			path := "args[" + strconv.Itoa(n) + "]."
			if !isContained(arg.Type) || arg.Type == "" {
				fail(path + "type")
			}
			if !isContained(arg.Default) {
				fail(path + "default")
			}
		}
	}
	if r.Known("body") {
		in.Body = unquoted(in.Body)
	}
	return failures, nil
}

// isContained reports whether text of SQL ends nothing that it is in, such as a list in parentheses.
func isContained(sql string) bool {
	depth, quote := 0, byte(0)
	for n := range len(sql) {
		c := sql[n]
		switch {
		case c == '\\' || c == 0:
			return false
		case quote != 0:
			if c == quote {
				quote = 0 // one that is doubled begins the next text
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ';' || c == '$' || strings.HasPrefix(sql[n:], "--") || strings.HasPrefix(sql[n:], "/*"):
			return false
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			if depth--; depth < 0 {
				return false
			}
		case c == ',' && depth == 0:
			return false
		}
	}
	return depth == 0 && quote == 0
}

// unquoted returns a body without AS $$ and $$ around it.
func unquoted(body string) string {
	trimmed := strings.TrimSuffix(strings.TrimSpace(body), ";")
	if len(trimmed) < 2 || !strings.EqualFold(trimmed[:2], "as") {
		return body
	}
	rest := strings.TrimSpace(trimmed[2:])
	tag, _, ok := strings.Cut(strings.TrimPrefix(rest, "$"), "$")
	tag = "$" + tag + "$"
	if !ok || !strings.HasPrefix(rest, tag) || !strings.HasSuffix(rest, tag) || len(rest) < 2*len(tag) {
		return body
	}
	return rest[len(tag) : len(rest)-len(tag)]
}

// put makes the function, or changes it.
func (o Function) put(ctx context.Context, in FunctionInputs) error {
	args, out := make([]string, len(in.Args)), false
	for n, arg := range in.Args {
		args[n] = arg.Mode + " "
		if arg.Name != "" {
			args[n] += name(arg.Name) + " "
		}
		args[n] += arg.Type
		if arg.Default != "" {
			args[n] += " DEFAULT " + arg.Default
		}
		out = out || arg.Mode == "OUT" || arg.Mode == "INOUT"
	}
	statement := "CREATE OR REPLACE FUNCTION " + name(in.Schema, in.Name) + "(" + strings.Join(args, ", ") + ")"
	switch {
	case in.Returns != "":
		statement += " RETURNS " + in.Returns
	case !out:
		statement += " RETURNS void"
	}
	statement += " LANGUAGE " + name(in.Language) + " " + in.Volatility + " PARALLEL " + in.Parallel
	if in.Strict {
		statement += " STRICT"
	}
	if in.SecurityDefiner {
		statement += " SECURITY DEFINER"
	}
	return o.server.run(ctx, in.Database, in.path(), statement+" AS "+text(in.Body))
}

// Create makes the function, or changes the one that there is. Its ID is the database, the schema, its name, and the types
// of its arguments.
func (o Function) Create(ctx context.Context, r guest.CreateRequest[FunctionInputs]) (guest.CreateResponse[FunctionState], error) {
	var response guest.CreateResponse[FunctionState]
	in := r.Inputs
	in.Database = o.server.database(in.Database)
	if err := o.put(ctx, in); err != nil {
		return response, err
	}
	response.ID, response.State = in.Database+"."+in.Schema+"."+in.Name+"("+in.types()+")", FunctionState{in}
	found, err := o.find(ctx, in, in.types())
	if err != nil {
		return response, guest.InitFailed("the function was made, but cannot be read: " + err.Error())
	}
	response.ID, response.State = in.Database+"."+in.Schema+"."+in.Name+"("+found.types+")", FunctionState{in}
	if in.Returns == "" {
		response.State.Returns = found.Returns
	}
	return response, nil
}

// types returns the types of the arguments that are given.
func (in FunctionInputs) types() string {
	var types []string
	for _, arg := range in.Args {
		if arg.Mode != "OUT" {
			types = append(types, arg.Type)
		}
	}
	return strings.Join(types, ", ")
}

// returned takes apart what the function returns: the type, whether it is a table, which has none, and whether there can be
// several rows.
func (in FunctionInputs) returned() (typ string, table, set bool) {
	words := strings.Fields(strings.ReplaceAll(in.Returns, "(", " ("))
	switch {
	case len(words) > 1 && strings.EqualFold(words[0], "setof"):
		_, typ, _ := strings.Cut(strings.TrimSpace(in.Returns), " ")
		return typ, false, true
	case len(words) > 1 && strings.EqualFold(words[0], "table") && words[1][0] == '(':
		return "", true, true
	}
	return in.Returns, false, false
}

// foundFunction is a function as the server has it.
type foundFunction struct {
	FunctionInputs
	// types are the types of its arguments, and signature is its name with them, for statements.
	types, signature string
	// same reports whether it returns the given type.
	same bool
}

// path returns the statement by which types, and names in the body, are looked up in the function's schema, and in public.
func (in FunctionInputs) path() string {
	return "SET LOCAL search_path TO " + name(in.Schema) + ", public"
}

// find finds a function by the types of its arguments. It is with the arguments that the server has.
func (o Function) find(ctx context.Context, in FunctionInputs, types string) (found foundFunction, err error) {
	found.FunctionInputs = in
	var volatility, parallel string
	var argTypes, argNames, argModes, argDefaults []string
	err = o.server.within(ctx, in.Database, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if err := executeAll(ctx, tx, in.path()); err != nil {
			return err
		}
		returns, table, set := in.returned()
		var function, result uint32
		err := tx.QueryRow(ctx, `SELECT coalesce(to_regprocedure(quote_ident($1::text) || '.' || quote_ident($2::text) || '(' || $3::text || ')')::oid, 0),
			coalesce(CASE WHEN $4::text <> '' THEN to_regtype($4::text) END::oid, 0)`, in.Schema, in.Name, types, returns).Scan(&function, &result)
		if err != nil {
			return err
		}
		// The server writes types with their schema where they are in another than this.
		if err := executeAll(ctx, tx, "SET LOCAL search_path TO pg_catalog"); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			SELECT p.oid::regprocedure::text, oidvectortypes(p.proargtypes), pg_get_function_result(p.oid), 
				p.proretset = $4 AND ($3 OR p.prorettype = $2::oid), l.lanname::text, p.prosrc,
				p.proparallel::text, p.prosecdef, p.proisstrict, p.provolatile::text,
				ARRAY(SELECT format_type(t, NULL) FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY a(t, n) ORDER BY n),
				coalesce(p.proargnames, '{}'), coalesce(p.proargmodes::text[], '{}'),
				ARRAY(SELECT coalesce(pg_get_function_arg_default(p.oid, n), '')
					FROM generate_series(1, cardinality(coalesce(p.proallargtypes, p.proargtypes::oid[]))) n ORDER BY n)
			FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.oid = $1::oid AND p.prokind IN ('f', 'w')`, function, result, table, set).
			Scan(&found.signature, &found.types, &found.Returns, &found.same, &found.Language, &found.Body, &parallel, &found.SecurityDefiner, &found.Strict,
				&volatility, &argTypes, &argNames, &argModes, &argDefaults)
	})
	if errors.Is(err, pgx.ErrNoRows) || isCode(err, invalidCatalogName) {
		return found, guest.NotFound("there is no function " + in.Schema + "." + in.Name + "(" + types + ") in " + in.Database)
	}
	if err != nil {
		return found, err
	}
	found.Volatility = map[string]string{"v": "VOLATILE", "s": "STABLE", "i": "IMMUTABLE"}[volatility]
	found.Parallel = map[string]string{"u": "UNSAFE", "r": "RESTRICTED", "s": "SAFE"}[parallel]
	found.Args = nil
	for n, typ := range argTypes {
		arg := FunctionArg{Type: typ, Mode: "IN", Default: argDefaults[n]}
		if n < len(argNames) {
			arg.Name = argNames[n]
		}
		if n < len(argModes) {
			arg.Mode = map[string]string{"i": "IN", "o": "OUT", "b": "INOUT", "v": "VARIADIC"}[argModes[n]]
		}
		if arg.Mode != "" { // a column of a table that it returns
			found.Args = append(found.Args, arg)
		}
	}
	return found, nil
}

// Read finds what the function is. Its arguments stay as they are recorded, because others make it another function.
func (o Function) Read(ctx context.Context, r guest.ReadRequest[FunctionInputs, FunctionState]) (guest.ReadResponse[FunctionInputs, FunctionState], error) {
	var response guest.ReadResponse[FunctionInputs, FunctionState]
	if r.State == nil {
		before, types, _ := strings.Cut(r.ID, "(")
		parts := strings.SplitN(before, ".", 3)
		if len(parts) != 3 || !strings.HasSuffix(types, ")") || slices.Contains(parts, "") {
			return response, guest.InvalidArgument("id", "the ID is to be database.schema.name(types), as in app.public.add(integer, integer)")
		}
		found, err := o.find(ctx, FunctionInputs{Database: parts[0], Schema: parts[1], Name: parts[2]}, strings.TrimSuffix(types, ")"))
		if err != nil {
			return response, err
		}
		response.ID = parts[0] + "." + parts[1] + "." + parts[2] + "(" + found.types + ")"
		response.Inputs, response.State = found.FunctionInputs, FunctionState{found.FunctionInputs}
		if parts[0] == o.server.database("") {
			response.Inputs.Database = ""
		}
		return response, nil
	}
	recorded := r.State.FunctionInputs
	found, err := o.find(ctx, recorded, recorded.types())
	if err != nil {
		return response, err
	}
	is := found.FunctionInputs
	is.Args = recorded.Args
	if found.same {
		is.Returns = recorded.Returns
	}
	response.Inputs, response.State = is, FunctionState{is}
	if r.Inputs != nil {
		if r.Inputs.Database == "" {
			response.Inputs.Database = ""
		}
		if found.same {
			response.Inputs.Returns = r.Inputs.Returns
		}
	}
	return response, nil
}

// Update changes the function, which keeps its owner and the privileges on it.
func (o Function) Update(ctx context.Context, r guest.UpdateRequest[FunctionInputs, FunctionState]) (guest.UpdateResponse[FunctionState], error) {
	in := r.Inputs
	in.Database, in.Returns = r.State.Database, r.State.Returns
	return guest.UpdateResponse[FunctionState]{State: FunctionState{in}}, o.put(ctx, in)
}

// Delete deletes the function.
func (o Function) Delete(ctx context.Context, r guest.DeleteRequest[FunctionState]) error {
	in := r.State.FunctionInputs
	found, err := o.find(ctx, in, in.types())
	if err != nil {
		return err
	}
	statement := "DROP FUNCTION IF EXISTS " + found.signature
	if in.DropCascade {
		statement += " CASCADE"
	}
	return o.server.run(ctx, in.Database, statement)
}
