package provider

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// RoleParameter is a parameter of the sessions of a role.
type RoleParameter struct {
	Name  string `husk:"name" doc:"The name of the parameter, for example work_mem."`
	Value string `husk:"value" doc:"Its value."`
	Quote bool   `husk:"quote,default=true" doc:"Whether the value is one text. Otherwise it is a list of texts, with commas between them."`
}

// The parameters with inputs of their own.
const (
	searchPath       = "search_path"
	statementTimeout = "statement_timeout"
	idleTimeout      = "idle_in_transaction_session_timeout"
	assumeRole       = "role"
)

// checkParameters refuses parameters that have an input of their own or occur twice, and sorts them by name.
func checkParameters(parameters []RoleParameter) (failures []guest.CheckFailure) {
	own := map[string]string{searchPath: "searchPaths", statementTimeout: "statementTimeout",
		idleTimeout: "idleInTransactionSessionTimeout", assumeRole: "assumeRole"}
	seen := map[string]bool{}
	for n, parameter := range parameters {
		key, path := strings.ToLower(parameter.Name), "parameters["+strconv.Itoa(n)+"].name"
		switch {
		case own[key] != "":
			failures = append(failures, guest.CheckFailure{Path: path, Reason: parameter.Name + " is set with the input " + own[key]})
		case seen[key]:
			failures = append(failures, guest.CheckFailure{Path: path, Reason: parameter.Name + " is there twice"})
		}
		seen[key] = true
	}
	sortParameters(parameters)
	return failures
}

func sortParameters(parameters []RoleParameter) {
	slices.SortFunc(parameters, func(a, b RoleParameter) int { return strings.Compare(a.Name, b.Name) })
}

// values returns the texts that the parameter is set to.
func (p RoleParameter) values() []string {
	if p.Quote {
		return []string{p.Value}
	}
	values := strings.Split(p.Value, ",")
	for n := range values {
		values[n] = strings.TrimSpace(values[n])
	}
	return values
}

// setting is a parameter of sessions with its value as SET has it.
type setting struct{ name, value string }

// sets returns all parameters that the role sets.
func (in RoleInputs) sets() (list []setting) {
	if len(in.SearchPaths) > 0 {
		list = append(list, setting{searchPath, texts(in.SearchPaths)})
	}
	if in.StatementTimeout != nil {
		list = append(list, setting{statementTimeout, strconv.Itoa(*in.StatementTimeout)})
	}
	if in.IdleInTransactionSessionTimeout != nil {
		list = append(list, setting{idleTimeout, strconv.Itoa(*in.IdleInTransactionSessionTimeout)})
	}
	if in.AssumeRole != "" {
		list = append(list, setting{assumeRole, text(in.AssumeRole)})
	}
	for _, parameter := range in.Parameters {
		list = append(list, setting{parameter.Name, texts(parameter.values())})
	}
	return list
}

// settings returns the statements that set the parameters in which the role differs.
func (in RoleInputs) settings(is RoleInputs) (statements []string) {
	now, before := in.sets(), is.sets()
	alter := "ALTER ROLE " + name(in.Name)
	for _, s := range before {
		if !slices.ContainsFunc(now, func(other setting) bool { return strings.EqualFold(s.name, other.name) }) {
			statements = append(statements, alter+" RESET "+name(strings.Split(s.name, ".")...))
		}
	}
	for _, s := range now {
		if !slices.Contains(before, s) {
			statements = append(statements, alter+" SET "+name(strings.Split(s.name, ".")...)+" TO "+s.value)
		}
	}
	return statements
}

// readSettings reads the parameters of the role from its entries in the catalog, name=value. They are written as they
// are recorded, where that is the same.
func (in *RoleInputs) readSettings(config []string, recorded RoleInputs) error {
	for _, entry := range config {
		name, value, _ := strings.Cut(entry, "=")
		var err error
		switch name {
		case searchPath:
			in.SearchPaths, err = parseNames(value)
		case statementTimeout:
			in.StatementTimeout, err = parseMilliseconds(value)
		case idleTimeout:
			in.IdleInTransactionSessionTimeout, err = parseMilliseconds(value)
		case assumeRole:
			in.AssumeRole = value
		default:
			found := RoleParameter{Name: name, Value: value, Quote: true}
			for _, p := range recorded.Parameters {
				if !strings.EqualFold(p.Name, name) {
					continue
				}
				// The server writes lists with the necessary quotes.
				if parsed, err := parseNames(value); p.Value == value || err == nil && slices.Equal(parsed, p.values()) {
					found = p
				} else {
					found.Name = p.Name
				}
			}
			in.Parameters = append(in.Parameters, found)
		}
		if err != nil {
			return errors.New("the role " + in.Name + " has " + entry + ": " + err.Error())
		}
	}
	sortParameters(in.Parameters)
	if in.SearchPaths == nil {
		in.SearchPaths = recorded.SearchPaths[:0:0]
	}
	if in.Parameters == nil {
		in.Parameters = recorded.Parameters[:0:0]
	}
	return nil
}

// parseNames reads a list of names as the server writes it, with quotes around names that need them.
func parseNames(list string) ([]string, error) {
	var parsed []string
	for rest := strings.TrimSpace(list); ; {
		var item string
		if !strings.HasPrefix(rest, `"`) {
			item, rest, _ = strings.Cut(rest, ",")
			parsed = append(parsed, strings.TrimSpace(item))
			if rest = strings.TrimSpace(rest); rest == "" {
				return parsed, nil
			}
			continue
		}
		for {
			var ok bool
			part := ""
			part, rest, ok = strings.Cut(rest[1:], `"`)
			if !ok {
				return nil, errors.New(`a name has no closing "`)
			}
			item += part
			if !strings.HasPrefix(rest, `"`) {
				break
			}
			item += `"`
		}
		parsed = append(parsed, item)
		if rest = strings.TrimSpace(rest); rest == "" {
			return parsed, nil
		}
		if rest[0] != ',' {
			return nil, errors.New("a comma is missing between names")
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// parseMilliseconds reads a duration as parameters have it; without a unit, the number is of milliseconds.
func parseMilliseconds(value string) (*int, error) {
	number := strings.TrimSpace(value)
	for _, unit := range []struct {
		name         string
		milliseconds float64
	}{{"us", 0.001}, {"ms", 1}, {"min", 60_000}, {"s", 1000}, {"h", 3_600_000}, {"d", 86_400_000}, {"", 1}} {
		digits, ok := strings.CutSuffix(number, unit.name)
		if !ok {
			continue
		}
		count, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil {
			break
		}
		milliseconds := int(count*unit.milliseconds + 0.5)
		return &milliseconds, nil
	}
	return nil, errors.New("that is not a number of milliseconds, nor a duration like 5min")
}
