// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

// watched is a fixture that watches a file.
type watched struct {
	*fixture
	path string
	log  *lockedBuffer
	*control.FileWatch
}

// newWatched has a file with this text watched. Anything that settles does so at once, unless
// opts say otherwise.
func newWatched(t *testing.T, text string, opts ...control.Option) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "spans"), log: new(lockedBuffer)}
	w.write(t, text)
	w.watch(t, opts...)
	return w
}

func (w *watched) watch(t *testing.T, opts ...control.Option) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.fixture = newFixture(t, append([]control.Option{control.Start(baseline("step")), control.Settle(time.Millisecond), control.Logger(logger)}, opts...)...)
	var err error
	w.FileWatch, err = w.WatchFile(w.path)
	require.NoError(t, err)
}

func (w *watched) Close() error { return w.FileWatch.Close() }

func (w *watched) write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(w.path, []byte(text), 0o644))
}

// replace writes the file in one step, so that nobody sees it blank in between.
func (w *watched) replace(t *testing.T, text string) {
	t.Helper()
	next := w.path + ".next"
	require.NoError(t, os.WriteFile(next, []byte(text), 0o644))
	require.NoError(t, os.Rename(next, w.path))
}

// lookAtIt lets the watch see the file as it is now. What a test requires does not depend on
// whether it does; that it would find what is wrong with the watch, does.
func lookAtIt() { time.Sleep(5 * time.Millisecond) }

// becomes waits for the gate and, which comes a moment later, the state to show it.
func (w *watched) becomes(t *testing.T, on string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return w.on() == on && spangate.Gym.Format(spangate.MustParse(strings.Join(w.State().Enabled, ","))) == on
	}, time.Minute, time.Millisecond, "it is %s", w.on())
}

// says waits for n warnings.
func (w *watched) says(t *testing.T, n int, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return w.log.lines() >= n }, time.Minute, time.Millisecond)
	require.Equal(t, n, w.log.lines(), w.log.String())
	require.Contains(t, w.log.String(), text)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) lines() int { return strings.Count(l.String(), "\n") }

func TestFileIsReadBeforeWatchFileReturns(t *testing.T) {
	for _, text := range []string{"job,sandbox\n", "job,sandbox", "\ufeff job ,\r\n SANDBOX\r\n", "job,sandbox\u2028", "job,,sandbox,"} {
		w := newWatched(t, text)
		require.Equal(t, "job,sandbox", w.on(), "%q", text)
		s := w.State()
		require.Equal(t, "file", s.Who)
		require.Equal(t, w.path, s.Why)
		require.Equal(t, s.Baseline, s.Startup)
		require.Empty(t, w.log.String())
	}
}

func TestFileThatSaysSomethingElseCounts(t *testing.T) {
	w := newWatched(t, "job\n")
	w.write(t, "sandbox\n")
	w.becomes(t, "sandbox")
	w.write(t, "verify") // not whole by itself
	w.becomes(t, "verify")

	w.replace(t, "agent\n")
	w.becomes(t, "agent")
	w.write(t, "rollout\n") // in the new file
	w.becomes(t, "rollout")

	require.NoError(t, os.Remove(w.path))
	w.write(t, "job,late\n")
	w.becomes(t, "job")
	require.Equal(t, []string{"late"}, w.State().Pending)
	w.write(t, "-all\n")
	w.becomes(t, "")
}

// TestConfigMapSwapCounts does what kubelet does: a new directory, and one rename of the link
// that everything goes through. No event has the file's name.
func TestConfigMapSwapCounts(t *testing.T) {
	dir := t.TempDir()
	volume := func(name, text string) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "spans"), []byte(text), 0o644))
		require.NoError(t, os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	volume("..1", "job")
	require.NoError(t, os.Symlink(filepath.Join("..data", "spans"), filepath.Join(dir, "spans")))
	w := &watched{path: filepath.Join(dir, "spans"), log: new(lockedBuffer)}
	w.watch(t)
	require.Equal(t, "job", w.on())
	for i, spec := range []string{"sandbox", "verify\n", "all", "agent\n"} {
		volume("..v"+string(rune('a'+i)), spec)
		w.becomes(t, spangate.Gym.Format(spangate.MustParse(strings.TrimSpace(spec))))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "..1")))
	volume("..2", "rollout")
	w.becomes(t, "rollout")
	require.Empty(t, w.log.String())
}

func TestFileBehindALinkCounts(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "real")
	require.NoError(t, os.WriteFile(elsewhere, []byte("job\n"), 0o644))
	w := &watched{path: filepath.Join(t.TempDir(), "spans"), log: new(lockedBuffer)}
	require.NoError(t, os.Symlink(elsewhere, w.path))
	w.watch(t, control.Settle(time.Hour)) // an event has to tell
	require.NoError(t, os.WriteFile(elsewhere, []byte("sandbox\n"), 0o644))
	w.becomes(t, "sandbox")
}

func TestDirectoryThatIsMadeAnewIsWatched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.Mkdir(dir, 0o755))
	w := &watched{path: filepath.Join(dir, "spans"), log: new(lockedBuffer)}
	w.write(t, "job\n")
	w.watch(t)
	require.NoError(t, os.RemoveAll(dir))
	w.says(t, 1, "it is not there")
	require.NoError(t, os.Mkdir(dir, 0o755))
	w.write(t, "sandbox\n")
	w.becomes(t, "sandbox")
	w.write(t, "verify\n")
	w.becomes(t, "verify")
}

func TestFileThatIsNoGoodKeepsTheLastGoodSetAndSaysSoOnce(t *testing.T) {
	for text, problem := range map[string]string{
		"":                           "it is blank; to switch everything off, write -all",
		" \r\n":                      "it is blank",
		"\ufeff":                     "it is blank",
		",\n":                        "it is blank",
		"job,sand box\n":             "can't be a name",
		"job sandbox\n":              "can't be a name",
		"job\nsandbox\n":             "can't be a name",
		"job,- sandbox\n":            "can't be a name",
		"job,-\n":                    "can't be a name",
		"job,\x00\x00\n":             "can't be a name",
		"{\"spec\": \"all\"}\n":      "can't be a name",
		"job,\xff\n":                 "not UTF-8",
		"job," + tooLong + "\n":      "longer than",
		strings.Repeat("x", 1<<20):   "longer than",
		strings.Repeat("x", 64) + "": "can't be a name",
	} {
		w := newWatched(t, "job\n")
		w.replace(t, text)
		w.says(t, 1, problem)
		require.Contains(t, w.log.String(), "stays in force")
		w.replace(t, text) // again
		lookAtIt()
		require.Equal(t, "job", w.on(), "%q", text)
		w.replace(t, "sandbox\n")
		w.becomes(t, "sandbox")
		w.says(t, 1, problem)
		w.replace(t, text) // after it was good
		w.says(t, 2, problem)
		require.Equal(t, "sandbox", w.on())
		require.Equal(t, "sandbox", w.State().Startup.Spec)
	}
}

func TestFileThatIsMissingOrNoFileKeepsTheLastGoodSet(t *testing.T) {
	w := newWatched(t, "job\n")
	require.NoError(t, os.Remove(w.path))
	w.says(t, 1, "it is not there")
	require.NoError(t, os.Mkdir(w.path, 0o755))
	w.says(t, 2, "no regular file")
	require.Equal(t, "job", w.on())
	require.NoError(t, os.Remove(w.path))
	w.says(t, 3, "it is not there")
	w.write(t, "sandbox\n")
	w.becomes(t, "sandbox")
}

func TestFileNeedNotBeThereYet(t *testing.T) {
	w := &watched{path: filepath.Join(t.TempDir(), "spans"), log: new(lockedBuffer)}
	w.watch(t)
	require.Equal(t, "step", w.on())
	w.says(t, 1, "it is not there")
	w.write(t, "sandbox\n")
	w.becomes(t, "sandbox")
}

// TestHalfWrittenFileDoesNotCount has nothing settle, so that a file counts only when it is
// whole by itself, however long its writer takes.
func TestHalfWrittenFileDoesNotCount(t *testing.T) {
	w := newWatched(t, "job\n", control.Settle(time.Hour))
	w.changes.take()
	f, err := os.Create(w.path)
	require.NoError(t, err)
	defer f.Close()
	for _, piece := range []string{"ste", "p", ",serv", "er,\n", "ver ify\n", "", ",\n"} {
		_, err := f.WriteString(piece)
		require.NoError(t, err)
		lookAtIt()
	}
	require.NoError(t, f.Truncate(0))
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	lookAtIt()
	_, err = f.WriteString("verify,sandbox\n")
	require.NoError(t, err)
	var seen []control.Change
	require.Eventually(t, func() bool { seen = append(seen, w.changes.take()...); return len(seen) > 0 }, time.Minute, time.Millisecond)
	require.Len(t, seen, 1)
	require.Equal(t, "verify,sandbox", w.on())
	require.Empty(t, w.log.String())
}

func TestTenThousandRewritesByAnotherProcessShowNothingThatWasNotWritten(t *testing.T) {
	// Nothing settles, however long the other process is kept from going on.
	w := newWatched(t, rewritten[0]+"\n", control.Settle(time.Hour))
	words := map[spangate.Mask]bool{}
	for _, spec := range rewritten {
		words[spangate.MustParse(spec)] = true
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	readers.Go(func() {
		for !done.Load() {
			if word := w.gate.Load(); !words[word] {
				t.Errorf("the gate shows %s", spangate.Gym.Format(word))
				return
			}
			time.Sleep(time.Microsecond) // the machine has other things to do
		}
	})
	exe, err := os.Executable()
	require.NoError(t, err)
	other := exec.Command(exe)
	other.Env = append(os.Environ(), rewriterEnv+"="+w.path)
	out, err := other.CombinedOutput()
	require.NoError(t, err, string(out))
	w.becomes(t, rewritten[len(rewritten)-1])
	done.Store(true)
	readers.Wait()
	seen := w.changes.take()
	t.Logf("%d rewrites, %d changes seen", rewrites, len(seen))
	for _, change := range seen {
		require.True(t, words[spangate.MustParse(strings.Join(change.New, ","))], "%v", change.New)
	}
}

func TestWhatAPersonAsksForStaysUntilTheFileSaysSomethingElse(t *testing.T) {
	w := newWatched(t, "job\n")
	require.NoError(t, w.SetBaseline(baseline("all")))
	w.replace(t, "job\r\n") // the same
	lookAtIt()
	require.NoError(t, os.Remove(w.path))
	w.says(t, 1, "it is not there")
	require.Equal(t, "all", w.State().Spec)
	require.NoError(t, w.ResetBaseline("me", ""))
	require.Equal(t, "job", w.on())
	require.NoError(t, w.SetBaseline(baseline("all")))
	w.replace(t, "sandbox\n")
	w.becomes(t, "sandbox")
}

func TestClosedWatchNoLongerCounts(t *testing.T) {
	w := newWatched(t, "job\n")
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	w.write(t, "sandbox\n")
	require.Never(t, func() bool { return w.on() != "job" }, 50*time.Millisecond, time.Millisecond)

	again, err := w.WatchFile(w.path)
	require.NoError(t, err)
	require.Equal(t, "sandbox", w.on())
	require.NoError(t, w.Controller.Close())
	w.write(t, "all\n")
	require.Never(t, func() bool { return w.on() != "sandbox" }, 50*time.Millisecond, time.Millisecond)
	require.NoError(t, again.Close())

	_, err = w.WatchFile(w.path)
	require.ErrorIs(t, err, control.ErrClosed)
}

func TestWatchNeedsADirectory(t *testing.T) {
	f := newFixture(t)
	_, err := f.WatchFile(filepath.Join(t.TempDir(), "nope", "spans"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "nope", "it says which directory")
}

func TestCallbackMayCloseTheWatch(t *testing.T) {
	var w *watched
	var closed atomic.Bool
	ready := make(chan struct{})
	w = newWatched(t, "job\n", control.OnChange(func(c control.Change) {
		select {
		case <-ready:
			_ = w.FileWatch.Close()
			_ = w.Controller.Close()
			closed.Store(true)
		default:
		}
	}))
	w.changes.take()
	close(ready)
	w.write(t, "sandbox\n")
	require.Eventually(t, closed.Load, time.Minute, time.Millisecond)
	require.Equal(t, "sandbox", w.on())
}

func TestFileMayHaveAnyPath(t *testing.T) {
	for _, name := range []string{"a\nb", "\xff", strings.Repeat("ü", 100), "spans, of \"mine\""} {
		dir := t.TempDir()
		for range 6 { // longer than a reason may be
			dir = filepath.Join(dir, strings.Repeat("d", 200))
		}
		for _, dir := range []string{t.TempDir(), dir} {
			require.NoError(t, os.MkdirAll(dir, 0o755))
			w := &watched{path: filepath.Join(dir, name), log: new(lockedBuffer)}
			w.write(t, "job\n")
			w.watch(t)
			require.Equal(t, "job", w.on())
			require.NotEmpty(t, w.State().Why)
		}
	}
}
