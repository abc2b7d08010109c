// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
)

// watched is a fixture that watches a file.
type watched struct {
	*fixture
	path string
	log  *lockedBuffer
	*control.FileWatch
}

// newWatched writes text to a file and watches it.
func newWatched(t *testing.T, text string, opts ...control.WatchOption) *watched {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spans")
	write(t, path, text)
	return watch(t, path, opts...)
}

// watch watches path, over the baseline step. Without opts only WatchFile and Reload read the
// file, so that no test depends on how fast the machine is.
func watch(t *testing.T, path string, opts ...control.WatchOption) *watched {
	t.Helper()
	w := &watched{path: path, log: new(lockedBuffer)}
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.fixture = newFixture(t, control.StartupBaseline(baseline("step")), control.Logger(logger))
	var err error
	w.FileWatch, err = w.WatchFile(path, append([]control.WatchOption{control.Interval(time.Hour)}, opts...)...)
	require.NoError(t, err)
	return w
}

func (w *watched) Close() error { return w.FileWatch.Close() }

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func (w *watched) write(t *testing.T, text string) {
	t.Helper()
	write(t, w.path, text)
}

// replace renames a whole file over the one that is watched.
func (w *watched) replace(t *testing.T, text string) {
	t.Helper()
	next := w.path + ".next"
	write(t, next, text)
	require.NoError(t, os.Rename(next, w.path))
}

// loads reads the file once and requires the groups that are on.
func (w *watched) loads(t *testing.T, on string) {
	t.Helper()
	require.NoError(t, w.Reload())
	require.Equal(t, on, w.on())
}

// refused reads the file once and requires the error, and that nothing has changed.
func (w *watched) refused(t *testing.T, problem string) {
	t.Helper()
	before := w.State()
	err := w.Reload()
	require.ErrorContains(t, err, problem)
	require.NotErrorIs(t, err, control.ErrClosed)
	var e *control.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "watch", e.Op)
	require.Equal(t, w.path, e.Input)
	require.Equal(t, before.Generation, w.State().Generation)
}

// becomes waits until the gate and the state, which may change a moment later, have these groups.
func (w *watched) becomes(t *testing.T, on string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return w.on() == on && spangate.Gym.Format(spangate.MustParse(strings.Join(w.State().Enabled, ","))) == on
	}, time.Minute, time.Millisecond, "it is %s", w.on())
}

// reports waits for n warnings and requires that the last has this text.
func (w *watched) reports(t *testing.T, n int, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return w.log.lines() >= n }, time.Minute, time.Millisecond)
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	require.Len(t, lines, n, w.log.String())
	require.Contains(t, lines[n-1], text)
	require.Contains(t, lines[n-1], "level=WARN")
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

func TestFileEndingInANewlineTakesEffectBeforeWatchFileReturns(t *testing.T) {
	for _, text := range []string{"job,sandbox\n", "\ufeff job ,\r\n SANDBOX\r\n", "job,\nsandbox\n\n", "job,,sandbox \x1c\n"} {
		w := newWatched(t, text)
		require.Equal(t, "job,sandbox", w.on(), "%q", text)
		s := w.State()
		require.Equal(t, "file", s.Baseline.Who)
		require.Equal(t, w.path, s.Baseline.Why)
		require.Equal(t, s.Baseline, s.Startup)
		require.Empty(t, w.log.String())
	}
}

func TestFileWithoutANewlineTakesEffectAtTheSecondEqualRead(t *testing.T) {
	for _, text := range []string{"job,sandbox", "\ufeffjob,\r\nsandbox", "job,sandbox\u2028", "job,sandbox\r"} {
		w := newWatched(t, text)
		require.Equal(t, "step", w.on(), "%q", text)
		w.loads(t, "job,sandbox")
		w.write(t, "verify")
		w.loads(t, "job,sandbox")
		w.write(t, "agent")
		w.loads(t, "job,sandbox")
		w.loads(t, "agent")
		w.write(t, "rollout")
		w.loads(t, "agent")
		w.write(t, "rollout\n")
		w.loads(t, "rollout")
		require.Empty(t, w.log.String())
	}
}

func TestFileIsReadEveryInterval(t *testing.T) {
	require.Equal(t, time.Second, control.DefaultInterval)
	w := newWatched(t, "job\n", control.Interval(time.Millisecond), nil)
	w.replace(t, "sandbox\n")
	w.becomes(t, "sandbox")
	w.replace(t, "verify")
	w.becomes(t, "verify")
	require.NoError(t, os.Remove(w.path))
	w.reports(t, 1, "no such file")
	w.replace(t, "agent\n")
	w.becomes(t, "agent")
	w.reports(t, 1, "no such file")
}

func TestFileIsReadWithoutOptions(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(t.TempDir(), "spans")
	write(t, path, "job\n")
	_, err := f.WatchFile(path)
	require.NoError(t, err)
	write(t, path, "sandbox\n")
	require.Eventually(t, func() bool { return f.on() == "sandbox" }, time.Minute, 10*time.Millisecond)
}

func TestChangedFileTakesEffect(t *testing.T) {
	w := newWatched(t, "job\n")
	w.write(t, "sandbox\n")
	w.loads(t, "sandbox")
	w.replace(t, "agent\n")
	w.loads(t, "agent")
	w.write(t, "rollout\n") // in the new file
	w.loads(t, "rollout")
	require.NoError(t, os.Remove(w.path))
	w.write(t, "job,late\n")
	w.loads(t, "job")
	require.Equal(t, []string{"late"}, w.State().Pending)
	w.write(t, "-all\n")
	w.loads(t, "")
}

// TestChangeThatKeepsSizeAndTimeTakesEffect changes nothing but the content.
func TestChangeThatKeepsSizeAndTimeTakesEffect(t *testing.T) {
	w := newWatched(t, "agent\n")
	before, err := os.Stat(w.path)
	require.NoError(t, err)
	w.write(t, "  job\n")
	require.NoError(t, os.Chtimes(w.path, before.ModTime(), before.ModTime()))
	after, err := os.Stat(w.path)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	require.Equal(t, before.Size(), after.Size())
	w.loads(t, "job")
}

// TestFileIsFoundByItsPath changes what is at the path in every way that file events, or a
// file that is kept open, would miss.
func TestFileIsFoundByItsPath(t *testing.T) {
	// Each returns the path of a file that holds job, and a function that changes what is there.
	type place func(t *testing.T, dir string) (path string, change func(text string))
	in := func(dir string, names ...string) string {
		path := filepath.Join(append([]string{dir}, names...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		return path
	}
	link := func(t *testing.T, to, at string) {
		next := at + ".next"
		require.NoError(t, os.Symlink(to, next))
		require.NoError(t, os.Rename(next, at))
	}
	for name, place := range map[string]place{
		"link to a link in other folders": func(t *testing.T, dir string) (string, func(string)) {
			file, middle, path := in(dir, "a", "file"), in(dir, "b", "middle"), in(dir, "c", "spans")
			write(t, file, "job\n")
			link(t, file, middle)
			link(t, middle, path)
			return path, func(text string) { write(t, file, text) }
		},
		"link to a link that is swapped": func(t *testing.T, dir string) (string, func(string)) {
			n, middle, path := 0, in(dir, "b", "middle"), in(dir, "c", "spans")
			change := func(text string) {
				n++
				file := in(dir, "a", strings.Repeat("x", n))
				write(t, file, text)
				link(t, file, middle)
			}
			change("job\n")
			link(t, middle, path)
			return path, change
		},
		"folder that is a link": func(t *testing.T, dir string) (string, func(string)) {
			n := 0
			change := func(text string) {
				n++
				file := in(dir, strings.Repeat("x", n), "spans")
				write(t, file, text)
				link(t, filepath.Dir(file), in(dir, "folder"))
			}
			change("job\n")
			return in(dir, "folder", "spans"), change
		},
		"hard link in another folder": func(t *testing.T, dir string) (string, func(string)) {
			file, path := in(dir, "a", "file"), in(dir, "b", "spans")
			write(t, file, "job\n")
			require.NoError(t, os.Link(file, path))
			return path, func(text string) { write(t, file, text) }
		},
		"..data of a ConfigMap": func(t *testing.T, dir string) (string, func(string)) {
			n := 0
			change := func(text string) {
				n++
				version := "..v" + strings.Repeat("x", n)
				write(t, in(dir, version, "spans"), text)
				link(t, version, in(dir, "..data"))
				require.NoError(t, os.RemoveAll(in(dir, "..v"+strings.Repeat("x", n-1))))
			}
			change("job\n")
			link(t, filepath.Join("..data", "spans"), in(dir, "spans"))
			return in(dir, "spans"), change
		},
		"grandparent that is recreated": func(t *testing.T, dir string) (string, func(string)) {
			change := func(text string) {
				require.NoError(t, os.RemoveAll(in(dir, "a")))
				write(t, in(dir, "a", "b", "c", "spans"), text)
			}
			change("job\n")
			return in(dir, "a", "b", "c", "spans"), change
		},
		"grandparent that is swapped": func(t *testing.T, dir string) (string, func(string)) {
			change := func(text string) {
				write(t, in(dir, "next", "b", "spans"), text)
				require.NoError(t, os.RemoveAll(in(dir, "a")))
				require.NoError(t, os.Rename(in(dir, "next"), in(dir, "a")))
			}
			change("job\n")
			return in(dir, "a", "b", "spans"), change
		},
		"beside a busy file": func(t *testing.T, dir string) (string, func(string)) {
			path, stop := in(dir, "spans"), make(chan struct{})
			write(t, path, "job\n")
			var busy sync.WaitGroup
			busy.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_ = os.WriteFile(filepath.Join(dir, "busy"), nil, 0o644)
					}
				}
			})
			t.Cleanup(func() { close(stop); busy.Wait() })
			return path, func(text string) { write(t, path, text) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, change := place(t, t.TempDir())
			w := watch(t, path)
			require.Equal(t, "job", w.on())
			for range 3 {
				change("sandbox\n")
				w.loads(t, "sandbox")
				change("verify") // no newline, so it needs two reads
				w.loads(t, "sandbox")
				w.loads(t, "verify")
			}
			require.Empty(t, w.log.String())
		})
	}
}

func TestBadFileKeepsTheLastGoodSetAndIsReportedOnce(t *testing.T) {
	for text, problem := range map[string]string{
		"":                           "it is blank; to switch everything off, write -all",
		" \r\n":                      "it is blank",
		"\ufeff":                     "it is blank",
		",\n":                        "it is blank",
		"job,\n":                     "it ends in a comma, as a half-written file does; remove the comma",
		"job, ":                      "it ends in a comma",
		"job,sand box\n":             `entry "sand box" can't be a name: it has ' ' at byte 8; a comma is missing between two names`,
		"job\nsandbox\n":             "a comma is missing between two names",
		"\ufeff\"job\"\n":            `it has '"' at byte 3; remove the quotes`,
		"[job, sandbox]\n":           "without brackets",
		"$(SPANS)\n":                 "the variable was not expanded",
		"job,- sandbox\n":            "write the name right after the '-'",
		"job,-\n":                    "no name after the '-' at byte 4",
		"job,\x00\x00\n":             `it has '\x00' at byte 4`,
		"{\"spec\": \"all\"}\n":      "without braces",
		"job,\xff\n":                 "it is not UTF-8",
		"\xff\xfej\x00\n\x00":        "it is not UTF-8",
		"job," + tooLong + "\n":      "at most 65536 are read",
		strings.Repeat("x", 1<<20):   "it has more than 66560 bytes",
		strings.Repeat("x", 64) + "": "longer than 63 bytes",
	} {
		w := newWatched(t, "job\n")
		w.write(t, text)
		w.refused(t, problem)
		require.Empty(t, w.log.String(), "the first time")
		w.refused(t, problem)
		w.reports(t, 1, "stays in force")
		w.refused(t, problem)
		require.Equal(t, "job", w.on(), "%q", text)
		w.write(t, "sandbox\n")
		w.loads(t, "sandbox")
		w.write(t, text) // reported again, since it was good in between
		w.refused(t, problem)
		w.refused(t, problem)
		w.reports(t, 2, "file="+w.path)
		require.Equal(t, "sandbox", w.State().Startup.Spec)
	}
}

func TestFileWithTextThatCantBeANameIsErrSpec(t *testing.T) {
	w := newWatched(t, "job\n")
	w.write(t, "'job'\n")
	require.ErrorIs(t, w.Reload(), control.ErrSpec)
	w.write(t, "\n")
	require.NotErrorIs(t, w.Reload(), control.ErrSpec)
}

func TestLongestFileTakesEffect(t *testing.T) {
	longest := strings.Repeat("late,", spangate.MaxSpecLen/5) + "x" // the longest spec
	require.Len(t, longest, spangate.MaxSpecLen)
	space := strings.Repeat("\n", 1<<10)
	w := newWatched(t, longest+space)
	require.Equal(t, longest, w.State().Baseline.Spec)
	w.write(t, longest+"y\n")
	w.refused(t, "its spec has 65537 bytes; at most 65536 are read")
	w.write(t, longest+space+"\n")
	w.refused(t, "it has more than 66560 bytes")
	w.write(t, space+longest)
	w.loads(t, "")
}

func TestUnreadableFileKeepsTheLastGoodSet(t *testing.T) {
	w := newWatched(t, "job\n")
	for i, c := range []struct {
		problem string
		make    func() error
	}{
		{"no such file", func() error { return nil }},
		{"it is no regular file", func() error { return os.Mkdir(w.path, 0o755) }},
		{"too many", func() error { return os.Symlink(w.path, w.path) }},
		{"no such file", func() error { return os.Symlink("nowhere", w.path) }},
		{"not a directory", func() error { return os.Symlink(os.Args[0]+"/spans", w.path) }},
	} {
		require.NoError(t, os.RemoveAll(w.path))
		require.NoError(t, c.make())
		w.refused(t, c.problem)
		w.refused(t, c.problem)
		w.reports(t, i+1, c.problem)
		require.Equal(t, "job", w.on())
	}
	require.NoError(t, os.Remove(w.path))
	require.ErrorIs(t, w.Reload(), fs.ErrNotExist)
	w.write(t, "sandbox\n")
	w.loads(t, "sandbox")
}

func TestStateHasTheWatchedFileAndItsProblem(t *testing.T) {
	w := newWatched(t, "job\n")
	e := newEndpoint(t, w.fixture)
	get := func() (*wire.File, string) {
		page := e.do("GET", "/", "", "Accept", "text/html")
		require.Equal(t, 304, e.do("GET", "/", "", "Accept", "text/html", "If-None-Match", page.header.Get("ETag")).status)
		state := e.do("GET", "/", "")
		return as[wire.State](e.do("GET", "/", "", "If-None-Match", state.header.Get("ETag")), 200).File, page.header.Get("ETag")
	}
	requireFile := func(problem string) (tag string) {
		t.Helper()
		require.Equal(t, &control.File{Path: w.path, Problem: problem}, w.State().File)
		file, tag := get()
		require.Equal(t, &wire.File{Path: w.path, Problem: problem}, file)
		return tag
	}
	before := w.State().Generation
	good := requireFile("")
	require.NoError(t, os.Remove(w.path))
	w.refused(t, "no such file")
	requireFile("") // one read alone may find a file that is being replaced
	w.refused(t, "no such file")
	require.NotEqual(t, good, requireFile("no such file or directory"), "the page is another")
	w.write(t, "job")
	require.NoError(t, w.Reload())
	requireFile("no such file or directory") // the content takes effect with the next read
	require.NoError(t, w.Reload())
	require.Equal(t, good, requireFile(""))
	require.Equal(t, before, w.State().Generation)
	require.NoError(t, w.Close())
	require.Nil(t, w.State().File)
	require.NotContains(t, e.do("GET", "/", "").body, `"file":`)
}

func TestStateOfAClosedControllerKeepsTheFile(t *testing.T) {
	w := newWatched(t, "\n")
	require.NoError(t, w.Controller.Close())
	require.NoError(t, w.Close())
	require.Equal(t, &control.File{Path: w.path, Problem: "it is blank; to switch everything off, write -all"}, w.State().File)
}

func TestWatchFileReportsABadFileAndReturnsNoError(t *testing.T) {
	dir := t.TempDir()
	blank := filepath.Join(dir, "blank")
	write(t, blank, "\n")
	for path, problem := range map[string]string{
		filepath.Join(dir, "spans"):           "no such file",
		filepath.Join(dir, "a", "b", "spans"): "no such file",
		filepath.Join(dir, "a\x00b"):          "invalid argument",
		dir:                                   "it is no regular file",
		blank:                                 "it is blank",
	} {
		w := watch(t, path)
		require.Equal(t, "step", w.on())
		w.reports(t, 1, problem)
		w.refused(t, problem)
		w.refused(t, problem)
		w.reports(t, 1, problem)
	}
	w := watch(t, filepath.Join(dir, "c", "spans"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "c"), 0o755))
	w.write(t, "sandbox\n")
	w.loads(t, "sandbox")
}

func TestWatchFileRefusesBadArguments(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(t.TempDir(), "spans")
	var none *control.Controller
	closed := newFixture(t)
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		c      *control.Controller
		path   string
		opts   []control.WatchOption
		reason error
		text   string
	}{
		{f.Controller, "", nil, nil, "the path is empty"},
		{f.Controller, path, []control.WatchOption{control.Interval(0)}, nil, "Interval(0s); more than 0"},
		{f.Controller, path, []control.WatchOption{control.Interval(-time.Second)}, nil, "Interval(-1s)"},
		{none, path, nil, control.ErrClosed, "make one with control.New"},
		{new(control.Controller), path, nil, control.ErrClosed, "make one with control.New"},
		{closed.Controller, path, nil, control.ErrClosed, "make another controller"},
	} {
		w, err := c.c.WatchFile(c.path, c.opts...)
		require.Nil(t, w)
		if c.reason != nil {
			require.ErrorIs(t, err, c.reason)
		}
		require.ErrorContains(t, err, c.text)
		require.ErrorContains(t, err, "spangate/control: watch")
	}
}

func TestNilAndZeroFileWatchAreClosed(t *testing.T) {
	for _, w := range []*control.FileWatch{nil, new(control.FileWatch)} {
		require.NoError(t, w.Close())
		require.ErrorIs(t, w.Reload(), control.ErrClosed)
	}
}

// TestHalfWrittenSpecNeverTakesEffect reads the file between two writes, for every split of the text.
func TestHalfWrittenSpecNeverTakesEffect(t *testing.T) {
	for _, text := range []string{"verify,\n sandbox,agent\n", "\ufeffverify,sandbox,agent\r\n", "verify,sandbox,agent"} {
		w := newWatched(t, "job\n")
		for i := range len(text) + 1 {
			w.write(t, "job\n")
			w.loads(t, "job")
			w.changes.take()

			f, err := os.Create(w.path)
			require.NoError(t, err)
			_, err = f.WriteString(text[:i])
			require.NoError(t, err)
			first := w.Reload()
			if i < len(text) {
				require.Equal(t, "job", w.on(), "%q takes effect", text[:i])
			}
			if half := strings.TrimSpace(text[:i]); half == "" || strings.HasSuffix(half, ",") {
				require.Error(t, first)
				w.refused(t, "") // however long it stays
			}
			_, err = f.WriteString(text[i:])
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.NoError(t, w.Reload())
			require.NoError(t, w.Reload())
			require.Equal(t, "verify,agent,sandbox", w.on())
			require.LessOrEqual(t, len(w.changes.take()), 1)
		}
	}
}

func TestRewritesByAnotherProcessShowOnlyWholeSpecs(t *testing.T) {
	w := newWatched(t, rewritten[0]+"\n", control.Interval(time.Millisecond))
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
			time.Sleep(50 * time.Microsecond)
		}
	})
	exe, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other := exec.CommandContext(ctx, exe)
	other.Env = append(os.Environ(), rewriterEnv+"="+w.path)
	out, err := other.CombinedOutput()
	done.Store(true)
	readers.Wait()
	require.NoError(t, err, string(out))
	w.becomes(t, rewritten[len(rewritten)-1])
	seen := w.changes.take()
	t.Logf("%d rewrites, %d changes seen", rewrites, len(seen))
	for _, change := range seen {
		require.True(t, words[spangate.MustParse(strings.Join(change.New, ","))], "%v", change.New)
		require.Equal(t, "file", change.Who)
		require.Equal(t, w.path, change.Why)
	}
}

func TestBaselineSetElsewhereStaysUntilTheFileChanges(t *testing.T) {
	w := newWatched(t, "job\n")
	require.NoError(t, w.SetBaseline(baseline("all")))
	w.write(t, "job\r\n") // the same
	require.NoError(t, w.Reload())
	require.NoError(t, os.Remove(w.path))
	w.refused(t, "no such file")
	w.write(t, "job\n")
	require.NoError(t, w.Reload())
	require.Equal(t, "all", w.State().Baseline.Spec)
	require.NoError(t, w.ResetBaseline("me", ""))
	require.Equal(t, "job", w.on())
	require.NoError(t, w.SetBaseline(baseline("all")))
	w.write(t, "sandbox\n")
	w.loads(t, "sandbox")
}

func TestClosedWatchChangesNothing(t *testing.T) {
	w := newWatched(t, "job\n", control.Interval(time.Millisecond))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	w.write(t, "sandbox\n")
	require.ErrorIs(t, w.Reload(), control.ErrClosed)
	require.Never(t, func() bool { return w.on() != "job" }, 20*time.Millisecond, time.Millisecond)

	again, err := w.WatchFile(w.path, control.Interval(time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, "sandbox", w.on())
	require.NoError(t, w.Controller.Close())
	w.write(t, "all\n")
	require.ErrorIs(t, again.Reload(), control.ErrClosed)
	require.Never(t, func() bool { return w.on() != "sandbox" }, 20*time.Millisecond, time.Millisecond)
	require.NoError(t, again.Close())

	_, err = w.WatchFile(w.path)
	require.ErrorIs(t, err, control.ErrClosed)
}

func TestCallbackMayCloseAndReloadTheWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spans")
	write(t, path, "job\n")
	watches, results := make(chan *control.FileWatch, 1), make(chan error, 3)
	f := newFixture(t, control.OnChange(func(change control.Change) {
		if change.Who == "file" && slices.Equal(change.New, []string{"sandbox"}) {
			w := <-watches
			results <- w.Close()
			results <- w.Reload()
			results <- w.Close()
		}
	}))
	w, err := f.WatchFile(path, control.Interval(time.Millisecond))
	require.NoError(t, err)
	watches <- w
	write(t, path, "sandbox\n")
	for _, want := range []error{nil, control.ErrClosed, nil} {
		select {
		case err := <-results:
			require.ErrorIs(t, err, want)
		case <-time.After(time.Minute):
			t.Fatal("the callback hangs")
		}
	}
	require.Equal(t, "sandbox", f.on())
}

func TestConcurrentReloadsAndClose(t *testing.T) {
	w := newWatched(t, "job\n", control.Interval(time.Millisecond))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				if err := w.Reload(); err != nil {
					assert.ErrorIs(t, err, control.ErrClosed)
					return
				}
			}
		})
	}
	w.replace(t, "sandbox\n")
	w.becomes(t, "sandbox")
	require.NoError(t, w.Close())
	wg.Wait()
}

// blockedHandler is a log handler that does not return until leave is closed.
type blockedHandler struct {
	slog.Handler
	entered chan struct{}
	leave   chan struct{}
}

func (h *blockedHandler) Handle(context.Context, slog.Record) error {
	h.entered <- struct{}{}
	<-h.leave
	return nil
}

func (h *blockedHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func TestBlockedLoggerDoesNotDelayTheFile(t *testing.T) {
	h := &blockedHandler{slog.DiscardHandler, make(chan struct{}, 10), make(chan struct{})}
	t.Cleanup(func() { close(h.leave) })
	f := newFixture(t, control.Logger(slog.New(h)))
	path := filepath.Join(t.TempDir(), "spans")
	write(t, path, "job\n")
	w, err := f.WatchFile(path, control.Interval(time.Hour))
	require.NoError(t, err)
	write(t, path, "j ob\n")
	require.Error(t, w.Reload())
	require.Error(t, w.Reload())
	select {
	case <-h.entered:
	case <-time.After(time.Minute):
		t.Fatal("nothing was reported")
	}
	write(t, path, "s ob\n")
	require.Error(t, w.Reload())
	require.Error(t, w.Reload())
	write(t, path, "-all\n")
	require.NoError(t, w.Reload())
	require.Equal(t, "", f.on())
}

func TestFileMayHaveAnyPath(t *testing.T) {
	for _, name := range []string{"a\nb", "\xff", strings.Repeat("ü", 100), "spans, of \"mine\""} {
		deep := t.TempDir()
		for range 6 { // longer than MaxWhyLen
			deep = filepath.Join(deep, strings.Repeat("d", 200))
		}
		for _, dir := range []string{t.TempDir(), deep} {
			require.NoError(t, os.MkdirAll(dir, 0o755))
			path := filepath.Join(dir, name)
			write(t, path, "job\n")
			w := watch(t, path)
			require.Equal(t, "job", w.on())
			require.NotEmpty(t, w.State().Baseline.Why)
			require.NoError(t, os.Remove(path))
			require.Less(t, len(w.Reload().Error()), 1500)
		}
	}
}

func TestRelativePathIsResolvedOnce(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "spans", "job\n")
	w := watch(t, "spans")
	t.Chdir(t.TempDir())
	write(t, filepath.Join(dir, "spans"), "sandbox\n")
	require.NoError(t, w.Reload())
	require.Equal(t, "sandbox", w.on())
	require.Equal(t, "file", w.State().Baseline.Who)
	require.Equal(t, filepath.Join(dir, "spans"), w.State().Baseline.Why)
}
