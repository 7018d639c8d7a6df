package provider

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

const (
	// maxRows and maxResult bound the result of a query in rows and bytes: programs hold it in memory.
	maxRows   = 10_000
	maxResult = 8 << 20
)

// QueryArgs are the arguments of postgresql:query.
type QueryArgs struct {
	SQL        string   `husk:"sql" doc:"One statement. It can refer to the parameters as $1 and so on."`
	Parameters []string `husk:"parameters,optional" doc:"The values of the parameters, as text."`
	Database   string   `husk:"database,optional" doc:"The database to ask; the configured one where none is given."`
}

// QueryResult is the result of postgresql:query.
type QueryResult struct {
	Columns []string             `husk:"columns" doc:"The names of the columns."`
	Rows    []map[string]*string `husk:"rows" doc:"The rows: the values as the server writes them, by column. Nulls are left out."`
}

func (s *server) query(ctx context.Context, a QueryArgs) (QueryResult, error) {
	result := QueryResult{Columns: []string{}, Rows: []map[string]*string{}}
	args := []any{pgx.QueryResultFormats{pgx.TextFormatCode}}
	for _, parameter := range a.Parameters {
		args = append(args, parameter)
	}
	readOnly := pgx.TxOptions{AccessMode: pgx.ReadOnly}
	err := s.within(ctx, a.Database, readOnly, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, a.SQL, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for _, column := range rows.FieldDescriptions() {
			result.Columns = append(result.Columns, column.Name)
		}
		size := 0
		for rows.Next() {
			row := make(map[string]*string, len(result.Columns))
			for n, value := range rows.RawValues() {
				if value != nil {
					text := string(value)
					row[result.Columns[n]] = &text
					size += len(text)
				}
			}
			result.Rows = append(result.Rows, row)
			if len(result.Rows) > maxRows || size > maxResult {
				return guest.InvalidArgument("sql", "the query answers more than "+strconv.Itoa(maxRows)+" rows or "+strconv.Itoa(maxResult)+" bytes: add a LIMIT")
			}
		}
		return rows.Err()
	})
	return result, err
}
