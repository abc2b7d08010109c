// SPDX-License-Identifier: Apache-2.0

//go:build !race

package libraries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// postgres returns the connection string of PostgreSQL. The first call starts the server, from
// Debian's package postgresql. Without the package the test is skipped; in CI it fails.
func postgres(t *testing.T) string {
	return startOnce(t, "postgresql", postgresOnce)
}

// redisServer returns the socket of Redis, from Debian's package redis-server, as postgres does.
func redisServer(t *testing.T) string {
	return startOnce(t, "redis-server", redisOnce)
}

var (
	postgresOnce = sync.OnceValues(startPostgres)
	redisOnce    = sync.OnceValues(startRedis)
)

func startOnce(t *testing.T, debianPackage string, once func() (string, error)) string {
	t.Helper()
	address, err := once()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		t.Skipf("%v; install the Debian package %s to run this test", err, debianPackage)
	}
	require.NoError(t, err, "Debian's package %s has the server", debianPackage)
	return address
}

func startPostgres() (connection string, err error) {
	initdb, server, err := postgresPrograms()
	if err != nil {
		return "", err
	}
	folder, err := serverFolder()
	if err != nil {
		return "", err
	}
	data := filepath.Join(folder, "data")
	command := exec.Command(initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync", "--no-locale", "--encoding", "UTF8")
	command.Dir, command.SysProcAttr = folder, notRoot()
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	ready := func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, postgresConnection(folder)) // the socket is there before the server is ready
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}
	return postgresConnection(folder), start(folder, ready, syscall.SIGQUIT,
		server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off")
}

// postgresConnection returns the connection string of the server whose socket is in folder.
func postgresConnection(folder string) string {
	return fmt.Sprintf("host=%s user=postgres dbname=postgres sslmode=disable", folder)
}

// postgresPrograms finds the programs in PATH or in Debian's folder of PostgreSQL.
func postgresPrograms() (initdb, server string, err error) {
	if initdb, err = exec.LookPath("initdb"); err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return "", "", err
		}
		initdb = found[len(found)-1]
	}
	return initdb, filepath.Join(filepath.Dir(initdb), "postgres"), nil
}

func startRedis() (socket string, err error) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		return "", err
	}
	folder, err := serverFolder()
	if err != nil {
		return "", err
	}
	socket = filepath.Join(folder, "socket")
	ready := func(context.Context) error {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return socket, start(folder, ready, syscall.SIGTERM,
		server, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder)
}

// serverFolder makes a folder for a server.
func serverFolder() (string, error) {
	folder, err := os.MkdirTemp("", "spangate")
	if err != nil {
		return "", err
	}
	stopServers = append(stopServers, func() { _ = os.RemoveAll(folder) })
	if attr := notRoot(); attr.Credential != nil {
		err = os.Chown(folder, int(attr.Credential.Uid), int(attr.Credential.Gid))
	}
	return folder, err
}

// start runs a server, and returns once ready returns no error. The server gets the signal
// stopWith at the end of the tests, and also if the test process is killed.
func start(folder string, ready func(context.Context) error, stopWith syscall.Signal, name string, args ...string) error {
	command := exec.Command(name, args...)
	command.Dir, command.SysProcAttr = folder, notRoot()
	command.SysProcAttr.Pdeathsig = stopWith
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	end := func() {
		_ = command.Process.Signal(stopWith)
		select {
		case <-exited:
		case <-time.After(10 * time.Second):
			_ = command.Process.Kill()
			<-exited
		}
	}
	stopServers = append(stopServers, end)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("%s exited:\n%s", name, &out)
		case <-ctx.Done():
			end()
			return fmt.Errorf("%s is not ready after 20 s: %w\n%s", name, err, &out)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// notRoot makes a process run as the user nobody if the test runs as root, since PostgreSQL refuses
// to run as root.
func notRoot() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		if nobody, err := user.Lookup("nobody"); err == nil {
			uid, _ := strconv.ParseUint(nobody.Uid, 10, 32)
			gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
			attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return attr
}
