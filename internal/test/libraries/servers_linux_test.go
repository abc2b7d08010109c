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

// postgres and redisServer start a server with the first test that needs it, and return how to
// reach it: a connection string, a socket. Debian's packages postgresql and redis-server hold
// the programs; without them the test is skipped, and in CI it fails.
func postgres(t *testing.T) string {
	return started(t, "postgresql", postgresOnce)
}

func redisServer(t *testing.T) string {
	return started(t, "redis-server", redisOnce)
}

var (
	postgresOnce = sync.OnceValues(startPostgres)
	redisOnce    = sync.OnceValues(startRedis)
)

func started(t *testing.T, debianPackage string, once func() (string, error)) string {
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
	folder, err := temporary()
	if err != nil {
		return "", err
	}
	data := filepath.Join(folder, "data")
	command := exec.Command(initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync", "--no-locale", "--encoding", "UTF8")
	command.Dir, command.SysProcAttr = folder, asUser()
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	ready := func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, postgresOf(folder)) // the socket is there before the server is ready
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}
	return postgresOf(folder), start(folder, ready, syscall.SIGQUIT,
		server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off")
}

// postgresOf returns what connects to the server whose socket is in folder.
func postgresOf(folder string) string {
	return fmt.Sprintf("host=%s user=postgres dbname=postgres sslmode=disable", folder)
}

// postgresPrograms looks in the path, and where Debian puts them.
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
	folder, err := temporary()
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

// temporary makes a folder for a server.
func temporary() (string, error) {
	folder, err := os.MkdirTemp("", "spangate")
	if err != nil {
		return "", err
	}
	servers = append(servers, func() { _ = os.RemoveAll(folder) })
	if attr := asUser(); attr.Credential != nil {
		err = os.Chown(folder, int(attr.Credential.Uid), int(attr.Credential.Gid))
	}
	return folder, err
}

// start runs a server, which is sent stopWith even if the test is killed, and returns when
// ready, asked again and again, has no error.
func start(folder string, ready func(context.Context) error, stopWith syscall.Signal, name string, args ...string) error {
	command := exec.Command(name, args...)
	command.Dir, command.SysProcAttr = folder, asUser()
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
	servers = append(servers, end)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("%s ended at once:\n%s", name, &out)
		case <-ctx.Done():
			end()
			return fmt.Errorf("%s is not ready after 20 s: %w\n%s", name, err, &out)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// asUser makes a process run as the user nobody if the test runs as root: PostgreSQL refuses to
// run as root.
func asUser() *syscall.SysProcAttr {
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
