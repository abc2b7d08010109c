// SPDX-License-Identifier: Apache-2.0

//go:build !race

package libraries

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/exaring/otelpgx"
	"github.com/glebarez/sqlite"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/extra/bunotel"
	"github.com/uptrace/opentelemetry-go-extra/otelgorm"
	uptracesql "github.com/uptrace/opentelemetry-go-extra/otelsql"
	nhatsql "go.nhat.io/otelsql"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	gormtracing "gorm.io/plugin/opentelemetry/tracing"

	"github.com/spangate/spangate/otelgate"
)

// connector opens SQLite connections that call inner for each statement, with the context of the
// instrumentation above.
type connector struct {
	sqlite driver.Driver
	inner  func(context.Context)
}

func (c connector) Driver() driver.Driver { return c.sqlite }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.sqlite.Open(":memory:")
	if err != nil {
		return nil, err
	}
	return sqliteConn{conn.(sqliteMethods), c.inner}, nil
}

// sqliteMethods has the methods of a connection that database/sql and the libraries call.
type sqliteMethods interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
}

type sqliteConn struct {
	sqliteMethods
	inner func(context.Context)
}

func (c sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.inner(ctx)
	return c.sqliteMethods.ExecContext(ctx, query, args)
}

func (c sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.inner(ctx)
	return c.sqliteMethods.QueryContext(ctx, query, args)
}

func sqliteConnector(t *testing.T, inner func(context.Context)) connector {
	db, err := sql.Open(sqlite.DriverName, "")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return connector{db.Driver(), inner}
}

// oneConnection limits db to one connection, since each connection is a database of its own, and
// closes db when the test ends.
func oneConnection(t *testing.T, db *sql.DB) *sql.DB {
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// openSQL returns the field open of a library: a function that opens a database with openDB and returns
// what is run on it.
func openSQL(openDB func(*testing.T, connector) *sql.DB) func(*testing.T, func(context.Context)) func(context.Context) error {
	return func(t *testing.T, inner func(context.Context)) func(context.Context) error {
		return callSQL(oneConnection(t, openDB(t, sqliteConnector(t, inner))))
	}
}

func otelsqlDB(t *testing.T, c connector) *sql.DB {
	db := otelsql.OpenDB(c, otelsql.WithAttributes(semconv.DBSystemNameSQLite))
	_, err := otelsql.RegisterDBStatsMetrics(db)
	require.NoError(t, err)
	return db
}

func uptraceDB(_ *testing.T, c connector) *sql.DB {
	db := uptracesql.OpenDB(c, uptracesql.WithDBSystem("sqlite"))
	uptracesql.ReportDBStatsMetrics(db)
	return db
}

func nhatDB(t *testing.T, c connector) *sql.DB {
	db := sql.OpenDB(opener{nhatsql.Wrap(opened{c}, nhatsql.AllowRoot(), nhatsql.TraceAll())})
	require.NoError(t, nhatsql.RecordStats(db))
	return db
}

// opened makes a connector a driver, and opener makes a driver a connector: nhatsql wraps only drivers.
type (
	opened struct{ connector }
	opener struct{ driver driver.Driver }
)

func (o opened) Open(string) (driver.Conn, error) { return o.Connect(context.Background()) }

func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open("") }
func (o opener) Driver() driver.Driver                        { return o.driver }

func callSQL(db *sql.DB) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := db.ExecContext(ctx, "CREATE TABLE t (n)"); err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO t VALUES (?)", 1); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		var n int
		if err := db.QueryRowContext(ctx, "SELECT n FROM t").Scan(&n); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "INSERT INTO missing VALUES (1)")
		return mustFail(err)
	}
}

// thing is a row of the table of gorm and bun.
type thing struct {
	ID   int64 `bun:",pk,autoincrement"`
	Name string
}

func openGorm(plugin func() gorm.Plugin) func(*testing.T, func(context.Context)) func(context.Context) error {
	return func(t *testing.T, inner func(context.Context)) func(context.Context) error {
		conn := oneConnection(t, sql.OpenDB(sqliteConnector(t, inner)))
		db, err := gorm.Open(sqlite.Dialector{Conn: conn}, &gorm.Config{Logger: logger.Discard})
		require.NoError(t, err)
		require.NoError(t, db.Use(plugin()))
		return func(ctx context.Context) error {
			tx := db.WithContext(ctx)
			return errors.Join(
				tx.Exec("CREATE TABLE things (id integer primary key, name text)").Error,
				tx.Create(&thing{Name: "one"}).Error,
				tx.First(&thing{}).Error,
				tx.Model(&thing{}).Where("id = ?", 1).Update("name", "two").Error,
				mustFail(tx.Table("missing").First(&thing{}).Error),
			)
		}
	}
}

func openBun(t *testing.T, inner func(context.Context)) func(context.Context) error {
	db := bun.NewDB(oneConnection(t, sql.OpenDB(sqliteConnector(t, inner))), sqlitedialect.New()).
		WithQueryHook(bunotel.NewQueryHook(bunotel.WithDBName("things")))
	return func(ctx context.Context) error {
		if _, err := db.NewCreateTable().Model(&thing{}).Exec(ctx); err != nil {
			return err
		}
		if _, err := db.NewInsert().Model(&thing{Name: "one"}).Exec(ctx); err != nil {
			return err
		}
		if err := db.NewSelect().Model(&thing{}).Limit(1).Scan(ctx); err != nil {
			return err
		}
		_, err := db.NewSelect().Table("missing").Exec(ctx)
		return mustFail(err)
	}
}

func openPgx(t *testing.T, inner func(context.Context)) func(context.Context) error {
	config, err := pgxpool.ParseConfig(postgres(t))
	require.NoError(t, err)
	config.MaxConns = 1
	config.ConnConfig.Tracer = otelpgx.NewTracer()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		inner(ctx)
		return dial(ctx, network, address)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, otelpgx.RecordStats(pool))
	return func(ctx context.Context) error {
		if _, err := pool.Exec(ctx, "CREATE TEMPORARY TABLE t (n int)"); err != nil {
			return err
		}
		if _, err := pool.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"n"}, pgx.CopyFromRows([][]any{{1}, {2}})); err != nil {
			return err
		}
		var n int
		if err := pool.QueryRow(ctx, "SELECT sum(n)::int FROM t WHERE n > $1", 0).Scan(&n); err != nil {
			return err
		}
		var batch pgx.Batch
		batch.Queue("INSERT INTO t VALUES (3)")
		batch.Queue("INSERT INTO t VALUES (4)")
		if err := pool.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		_, err := pool.Exec(ctx, "SELECT n FROM missing")
		return mustFail(err)
	}
}

// callingHook calls inner for each command, with the context of the instrumentation above.
type callingHook struct{ inner func(context.Context) }

func (callingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h callingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.inner(ctx)
		return next(ctx, cmd)
	}
}

func (h callingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.inner(ctx)
		return next(ctx, cmds)
	}
}

func openRedis(t *testing.T, inner func(context.Context)) func(context.Context) error {
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: redisServer(t)})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	require.NoError(t, redisotel.InstrumentTracing(c))
	require.NoError(t, redisotel.InstrumentMetrics(c))
	c.AddHook(callingHook{inner})
	return func(ctx context.Context) error {
		if err := c.Set(ctx, "key", "value", 0).Err(); err != nil {
			return err
		}
		if err := c.Get(ctx, "missing").Err(); !errors.Is(err, redis.Nil) {
			return err
		}
		pipe := c.Pipeline()
		pipe.Get(ctx, "key")
		pipe.Del(ctx, "other")
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		return mustFail(c.Incr(ctx, "key").Err())
	}
}

var databaseLibraries = []library{
	{
		name:    "otelsql",
		modules: []string{"github.com/XSAM/otelsql", "github.com/glebarez/go-sqlite"},
		run:     "SQLite: statements, a transaction, a row, a failing statement",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "github.com/XSAM/otelsql", Group: client}},
		open:    openSQL(otelsqlDB),
	},
	{
		name:    "otelsql of Uptrace",
		modules: []string{"github.com/uptrace/opentelemetry-go-extra/otelsql", "github.com/glebarez/go-sqlite"},
		run:     "the same as otelsql",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "github.com/uptrace/opentelemetry-go-extra/otelsql", Group: client}},
		open:    openSQL(uptraceDB),
	},
	{
		name:    "gorm",
		modules: []string{"gorm.io/plugin/opentelemetry", "gorm.io/gorm"},
		run:     "SQLite: raw, create, query, update, a failing query",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "gorm.io/*", Group: client}},
		open:    openGorm(func() gorm.Plugin { return gormtracing.NewPlugin() }),
	},
	{
		name:    "otelgorm",
		modules: []string{"github.com/uptrace/opentelemetry-go-extra/otelgorm", "gorm.io/gorm"},
		run:     "the same as gorm",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "github.com/uptrace/opentelemetry-go-extra/otelgorm", Group: client}},
		open:    openGorm(func() gorm.Plugin { return otelgorm.NewPlugin() }),
	},
	{
		name:    "bun",
		modules: []string{"github.com/uptrace/bun/extra/bunotel", "github.com/uptrace/bun"},
		run:     "SQLite: create table, insert, select, a failing select",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "github.com/uptrace/bun", Group: client}},
		open:    openBun,
	},
	{
		name:                 "otelpgx",
		modules:              []string{"github.com/exaring/otelpgx", "github.com/jackc/pgx/v5"},
		run:                  "PostgreSQL: connect, query, copy, batch, a failing query; starts nothing unless the span above records",
		groups:               program | client | inner,
		rules:                otelgate.Rules{{Scope: "github.com/exaring/otelpgx", Group: client}},
		needsRecordingParent: true,
		open:                 openPgx,
	},
	{
		name:    "redisotel",
		modules: []string{"github.com/redis/go-redis/extra/redisotel/v9", "github.com/redis/go-redis/v9"},
		run:     "Redis: dial, commands, a pipeline, a failing command",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "github.com/redis/go-redis/extra/redisotel", Group: client}},
		open:    openRedis,
	},
}
