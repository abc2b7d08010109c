// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/spangate/spangate/internal/spec"
)

// settleTime is how long a file that does not say that it is whole must stay as it is to be
// taken for whole, and how long anything that is wrong with a file must last to be reported.
const settleTime = 500 * time.Millisecond

// FileWatch is a file whose content is the baseline of a [Controller]. Get one from
// [Controller.WatchFile]. Its methods may be called from any goroutine.
type FileWatch struct {
	c    *Controller
	path string

	events  *fsnotify.Watcher
	stopped chan struct{}
	stop    sync.Once

	// What follows belongs to the goroutine that looks at the file.

	target  string  // the file that path leads to, by whatever links; empty if none
	seen    content // when it was last looked at
	current *string // the spec that it said last, nil if none yet
	said    string  // what was last reported to be wrong, and still is
}

// WatchFile makes what the file says the baseline, as [Controller.Configure] does, now and
// whenever it says something else: after a write, when another file is renamed over it, when
// it is deleted and made again, and when a symbolic link on the way to it is swapped, as
// Kubernetes does with the ..data of a ConfigMap.
//
// The file holds one spec, which may be spread over lines. A byte order mark and space around
// a name, line ends of any kind included, do no harm. Names that nobody has registered are
// kept until somebody does.
//
// Whoever writes should rename a whole file over the old one, or end the file with a line
// end and not with a comma before it: such a file is whole, and counts at once. Any other is
// taken for whole when it has stayed the same for half a second, so that what another process
// is still writing does not count. A file that is missing, blank, too long, not text, or holds
// what can't be a name changes nothing: what was last in force stays, and one record of level
// WARN says so. To switch everything off, write -all.
//
// WatchFile returns when the file has been read; if it is not there or no good, that is
// reported, and no error. The error is the operating system's, when there is no directory to
// watch, or an [*Error] for [ErrClosed].
func (c *Controller) WatchFile(path string) (*FileWatch, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &FileWatch{c: c, path: path, events: events, stopped: make(chan struct{})}
	dir := filepath.Dir(path)
	err = w.permit()
	if err == nil {
		if cause := events.Add(dir); cause != nil { // which names neither what nor where
			err = &fs.PathError{Op: "watch", Path: dir, Err: cause}
		}
	}
	if err != nil {
		_ = events.Close()
		return nil, err
	}
	w.follow()
	if again := w.look(); again && w.seen.problem == "" {
		time.Sleep(c.options.settle)
		w.settle()
	}
	go w.run()
	return w, nil
}

// Close stops watching; the baseline stays. Nothing that the file says counts once Close has
// returned. To close again does nothing. Close waits for nobody, so that a callback may call
// it.
func (w *FileWatch) Close() error {
	w.stop.Do(func() {
		// In the midst of no change.
		_ = w.c.update(author{}, func(time.Time) (cause, error) { close(w.stopped); return cause{}, errNothing })
		select {
		case <-w.stopped:
		default: // the controller is closed
			close(w.stopped)
		}
	})
	return nil
}

// permit returns an error if the file no longer counts.
func (w *FileWatch) permit() error {
	select {
	case <-w.stopped:
		return errors.New("spangate/control: watch: stopped")
	case <-w.c.done:
		return &Error{Op: "watch", Input: w.path, Err: because(ErrClosed, "make another controller")}
	default:
		return nil
	}
}

// run looks at the file whenever something happens near it, and again when nothing has
// happened for a while.
func (w *FileWatch) run() {
	defer w.events.Close()
	settle := time.NewTimer(w.c.options.settle)
	defer settle.Stop()
	for {
		select {
		case <-w.stopped:
			return
		case <-w.c.done:
			return
		case e := <-w.events.Events:
			if !w.concerns(e.Name) {
				continue
			}
		case <-w.events.Errors: // events were lost, or a directory; the file itself will tell
		case <-settle.C:
			if settled := w.settle(); !settled {
				settle.Reset(w.c.options.settle)
			}
			continue
		}
		w.follow()
		if w.look() {
			settle.Reset(w.c.options.settle)
		}
	}
}

// follow watches the directories whose changes may be changes of the file: its own, that of
// the file that it is a link to, and the one above, in which its own may be made anew.
func (w *FileWatch) follow() {
	dir := filepath.Dir(w.path)
	dirs := []string{dir, filepath.Dir(dir)}
	var err error
	if w.target, err = filepath.EvalSymlinks(w.path); err == nil {
		dirs = append(dirs, filepath.Dir(w.target))
	}
	for _, dir := range dirs {
		_ = w.events.Add(dir) // one that is not there will come with an event
	}
}

// concerns reports whether what happened to the file called name may have to do with w's. In
// its own directory anything may: links on the way to it have names of their own.
func (w *FileWatch) concerns(name string) bool {
	dir, in := filepath.Dir(w.path), filepath.Dir(name)
	return name == dir || in == dir || in == filepath.Dir(w.target)
}

// look reads the file, takes over what it says if that is whole, and reports whether it must
// be looked at again.
func (w *FileWatch) look() (again bool) {
	w.seen = readFile(w.path)
	if w.seen.whole {
		w.take()
	}
	return !w.seen.whole
}

// settle takes the file as it is, and reports whether it is still as it was when it was last
// looked at; if it is not, it takes nothing.
func (w *FileWatch) settle() bool {
	before := w.seen
	if w.seen = readFile(w.path); w.seen != before {
		return false
	}
	w.take()
	return true
}

// take takes over what the file was seen to say, or says why not.
func (w *FileWatch) take() {
	if w.seen.problem != "" {
		w.report(w.seen.problem)
		return
	}
	w.said = ""
	if w.current != nil && *w.current == w.seen.spec {
		return // what somebody else has asked for since stays
	}
	if err := w.c.configure(Baseline{Spec: w.seen.spec, Who: "file", Why: w.shownPath()}, w.permit); err != nil {
		return // nobody watches any more
	}
	spec := w.seen.spec
	w.current = &spec
}

// shownPath returns the path as a reason, which is short and stands on a line.
func (w *FileWatch) shownPath() string {
	if len(w.path) <= MaxWhyLen && line(w.path) {
		return w.path
	}
	return spec.Head(strconv.QuoteToASCII(w.path))
}

// report says what is wrong with the file, unless it has just been said.
func (w *FileWatch) report(problem string) {
	if problem == w.said || w.permit() != nil {
		return
	}
	w.said = problem
	w.c.logger().Warn("spangate: the watched file is no good, so what was last asked for stays in force",
		slog.String("file", w.path), slog.String("problem", problem))
}
