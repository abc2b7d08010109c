// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/spangate/spangate/control"
)

// childEnv is set in a process that runs one test.
const childEnv = "SPANGATE_TEST_CHILD"

// inChild runs the test again in a process of its own, for a test that changes its process. It
// reports whether it was called in that process.
func inChild(t *testing.T, attr *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv(childEnv) != "" {
		return true
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, exe, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	child.Env = append(os.Environ(), childEnv+"=1")
	child.SysProcAttr = attr
	out, err := child.CombinedOutput()
	if attr != nil && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES)) {
		t.Skipf("this system does not allow tests to create namespaces: %v", err)
	}
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}

func TestFileThatIsAMountIsFoundByItsPath(t *testing.T) {
	if !inChild(t, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}) {
		return
	}
	bind := func(from, at string) { require.NoError(t, unix.Mount(from, at, "", unix.MS_BIND, "")) }
	dir := t.TempDir()
	first, second, path := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "spans")
	write(t, first, "job\n")
	write(t, second, "sandbox\n")
	write(t, path, "")
	bind(first, path)
	w := watch(t, path)
	require.Equal(t, "job", w.on())
	write(t, first, "verify\n")
	w.loads(t, "verify")
	require.NoError(t, unix.Unmount(path, 0))
	w.refused(t, "it is blank")
	bind(second, path)
	w.loads(t, "sandbox")

	// A mounted directory, as in a container.
	inner, outer := filepath.Join(dir, "inner"), filepath.Join(dir, "outer")
	require.NoError(t, os.Mkdir(inner, 0o755))
	require.NoError(t, os.Mkdir(outer, 0o755))
	w = watch(t, filepath.Join(outer, "spans"))
	write(t, filepath.Join(inner, "spans"), "agent\n")
	w.refused(t, "no such file")
	bind(inner, outer)
	w.loads(t, "agent")
	require.NoError(t, unix.Mount("tmpfs", outer, "tmpfs", 0, ""))
	w.refused(t, "no such file")
	w.write(t, "rollout\n")
	w.loads(t, "rollout")
	require.NoError(t, unix.Unmount(outer, 0))
	w.loads(t, "agent")
	require.NoError(t, unix.Unmount(outer, 0))
	require.NoError(t, unix.Unmount(path, 0))
}

func TestExhaustedDescriptorTableKeepsTheLastGoodSet(t *testing.T) {
	if !inChild(t, nil) {
		return
	}
	w := newWatched(t, "job\n", control.Interval(time.Millisecond))
	w.replace(t, "sandbox\n")
	w.becomes(t, "sandbox")

	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}))
	var open []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			require.ErrorIs(t, err, unix.EMFILE)
			break
		}
		open = append(open, f)
	}
	require.ErrorIs(t, w.Reload(), unix.EMFILE)
	w.reports(t, 1, "too many open files")
	require.Equal(t, "sandbox", w.on())
	another := watch(t, w.path)
	another.reports(t, 1, "too many open files")
	for _, f := range open {
		require.NoError(t, f.Close())
	}
	w.replace(t, "verify\n")
	w.becomes(t, "verify")
	another.loads(t, "verify")
}

// TestPipesSocketsAndDevicesAreNotRead would hang if a read waited for the other end of a pipe.
func TestPipesSocketsAndDevicesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	require.NoError(t, unix.Mkfifo(pipe, 0o644))
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	for _, other := range []string{pipe, socket, "/dev/zero", "/dev/tty", "/dev/null", "/proc/self/fd"} {
		path := filepath.Join(t.TempDir(), "spans")
		write(t, path, "job\n")
		w := watch(t, path)
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Symlink(other, path))
		w.refused(t, "it is no regular file")
		require.Equal(t, "job", w.on())
		require.NoError(t, os.Remove(path))
		write(t, path, "sandbox\n")
		w.loads(t, "sandbox")
		require.NoError(t, w.Close())
	}
}

// TestFileThatBecomesAPipeIsNotWaitedFor swaps a file and a pipe, so that some reads check the file
// and open the pipe.
func TestFileThatBecomesAPipeIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	file, pipe, path := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "spans")
	write(t, file, "job\n")
	require.NoError(t, unix.Mkfifo(pipe, 0o644))
	require.NoError(t, os.Link(file, path))
	w := watch(t, path)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			for _, what := range []string{pipe, file} {
				next := filepath.Join(dir, "next")
				if err := errors.Join(os.Link(what, next), os.Rename(next, path)); err != nil {
					stopped <- err
					return
				}
			}
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
	}()
	for range 2_000 {
		if err := w.Reload(); err != nil {
			require.ErrorContains(t, err, "it is no regular file")
		}
	}
	close(stop)
	select {
	case err := <-stopped:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("a link or a rename hangs")
	}
	require.Equal(t, "job", w.on())
}

// TestFileOfSizeZeroWithContentIsRead reads a file whose size is 0 and whose content is not, as in
// /proc and in some user-space file systems.
func TestFileOfSizeZeroWithContentIsRead(t *testing.T) {
	info, err := os.Stat("/proc/self/comm")
	require.NoError(t, err)
	require.Zero(t, info.Size())
	before, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("/proc/self/comm", []byte("job,sandbox"), 0o644))
	defer func() { require.NoError(t, os.WriteFile("/proc/self/comm", before, 0o644)) }()
	w := watch(t, "/proc/self/comm")
	require.Equal(t, "job,sandbox", w.on())
}

// TestUnresponsiveFileSystemBlocksNothing makes the kernel wait for this test before it opens the
// file.
func TestUnresponsiveFileSystemBlocksNothing(t *testing.T) {
	w := newWatched(t, "job\n", control.Interval(time.Millisecond), control.ReadTimeout(20*time.Millisecond))
	_, answer := hold(t, unix.FAN_OPEN_PERM, w.path)

	require.ErrorContains(t, w.Reload(), "the file system does not answer")
	w.reports(t, 1, "the file system does not answer")
	for range 20 {
		require.ErrorContains(t, w.Reload(), "the file system does not answer")
	}
	require.Equal(t, 1, readers(), "one read at a time")
	require.Equal(t, "job", w.on())

	// Neither another watch nor Close is blocked.
	another := watch(t, w.path, control.ReadTimeout(20*time.Millisecond))
	another.reports(t, 1, "the file system does not answer")
	require.NoError(t, another.Close())
	require.Equal(t, 2, readers())

	answer()
	w.write(t, "sandbox\n")
	w.becomes(t, "sandbox")
	require.Eventually(t, func() bool { return readers() <= 1 }, time.Minute, time.Millisecond, "the closed watch does not read again")
}

// TestFileThatChangesWhileItIsReadIsRefused writes the file between the two halves of a
// read, which must be equal.
func TestFileThatChangesWhileItIsReadIsRefused(t *testing.T) {
	w := newWatched(t, "job\n", control.ReadTimeout(time.Minute))
	ask, answer := hold(t, unix.FAN_ACCESS_PERM, w.path)
	result := make(chan error, 1)
	go func() { result <- w.Reload() }()
	allowOneReading(t, ask)
	w.write(t, "sandbox\n")
	answer()
	require.ErrorContains(t, resultOf(t, result), "it is being written")
	require.Equal(t, "job", w.on())
	w.loads(t, "sandbox")
}

// allowOneReading lets the file be read once, and holds the next access.
func allowOneReading(t *testing.T, ask *os.File) {
	t.Helper()
	for i := range 3 { // the text, its end, and the text again
		var event unix.FanotifyEventMetadata
		require.NoError(t, binary.Read(ask, binary.NativeEndian, &event))
		require.NoError(t, unix.Close(int(event.Fd)))
		if i < 2 {
			require.NoError(t, binary.Write(ask, binary.NativeEndian, unix.FanotifyResponse{Fd: event.Fd, Response: unix.FAN_ALLOW}))
		}
	}
}

func resultOf(t *testing.T, results <-chan error) error {
	t.Helper()
	select {
	case err := <-results:
		return err
	case <-time.After(time.Minute):
		t.Fatal("Reload hangs")
		return nil
	}
}

// TestReloadReturnsTheResultOfItsOwnRead holds a read between its two halves, and changes the file
// meanwhile.
func TestReloadReturnsTheResultOfItsOwnRead(t *testing.T) {
	w := newWatched(t, "job\n", control.ReadTimeout(100*time.Millisecond))
	ask, answer := hold(t, unix.FAN_ACCESS_PERM, w.path)
	late := make(chan error, 1)
	go func() { late <- w.Reload() }()
	allowOneReading(t, ask)
	require.ErrorContains(t, resultOf(t, late), "the file system does not answer")
	w.write(t, "sandbox\n")
	answer()
	err := w.Reload()
	for range 100 { // the read may still be late on a busy machine
		if err == nil || !strings.Contains(err.Error(), "does not answer") {
			break
		}
		err = w.Reload()
	}
	require.NoError(t, err)
	require.Equal(t, "sandbox", w.on())
}

// hold makes every access of this kind to the file wait until answer is called, or until the test
// answers the kernel's event, which it reads from ask.
func hold(t *testing.T, kind uint64, path string) (ask *os.File, answer func()) {
	t.Helper()
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_LARGEFILE)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		t.Skipf("this system does not allow tests to hold accesses to a file: %v", err)
	}
	require.NoError(t, err)
	ask = os.NewFile(uintptr(fd), "fanotify")
	answer = func() { _ = ask.Close() }
	t.Cleanup(answer)
	require.NoError(t, ask.SetReadDeadline(time.Now().Add(time.Minute)))
	require.NoError(t, unix.FanotifyMark(fd, unix.FAN_MARK_ADD, kind, unix.AT_FDCWD, path))
	return ask, answer
}

// readers returns how many goroutines are reading a file that is watched.
func readers() int {
	b := make([]byte, 1<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), "control.readFile(")
}

func TestWatchNeedsNoFileEvents(t *testing.T) {
	before := descriptors(t)
	w := newWatched(t, "job\n")
	require.NoError(t, w.Reload())
	for fd, what := range descriptors(t) {
		if before[fd] != what {
			require.NotContains(t, what, "inotify")
			require.NotContains(t, what, w.path, "the file is not kept open")
		}
	}
}

func descriptors(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	open := make(map[string]string)
	for _, e := range entries {
		if what, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open[e.Name()] = what
		}
	}
	return open
}
