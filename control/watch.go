// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spangate/spangate/internal/spec"
)

const (
	// defaultInterval is the time between two looks at a watched file.
	defaultInterval = time.Second
	// defaultPatience is how long a look waits for the file system.
	defaultPatience = 5 * time.Second
)

// WatchOption is an option of [Controller.WatchFile]. A nil one has no effect.
type WatchOption func(*watchOptions)

type watchOptions struct{ interval, patience time.Duration }

// Interval sets the time between two looks at the file, which is one second without it. It must
// be more than 0.
func Interval(d time.Duration) WatchOption { return func(o *watchOptions) { o.interval = d } }

// FileWatch is a file whose content is the baseline of a [Controller]. Get one from
// [Controller.WatchFile]. Its methods may be called from any goroutine, and by callbacks. On nil
// or the zero value, Reload returns [ErrClosed] and Close does nothing.
type FileWatch struct {
	c       *Controller
	path    string
	options watchOptions

	reloads chan chan<- error // one answer for each Reload
	stopped chan struct{}
	stop    sync.Once

	// WatchFile uses the fields below until it starts run, and then only run does.

	reads   chan content // gets the result of each read
	reading bool         // a read is under way
	seen    content      // by the last look
	spec    *string      // the last one that counted, nil if none yet
	said    string       // the problem that was reported last, or empty if it is over
}

// WatchFile makes the content of the file the baseline, as [Controller.Configure] does, now
// and whenever it changes. The file is looked at once a second, or as [Interval] says, and
// whenever [FileWatch.Reload] is called. It is found by its path each time, so links, mounts,
// network file systems, directories that are made anew and the ..data of a Kubernetes
// ConfigMap need no care. A relative path is one of the current directory.
//
// The file holds one spec of at most [spangate.MaxSpecLen] bytes, which may be spread over
// lines that end in a comma. A byte order mark, space around a name and line ends of any kind
// do no harm. Names that are not registered are kept until they are.
//
// A file that ends in a line end is whole and counts at once. Any other counts when two looks
// in a row find the same, so that a file that is being written does not. To be safe, rename a
// whole file over the old one, or end the file with a line end.
//
// A file that can't be read, is no regular file, is blank, too long, not UTF-8, ends in a
// comma, or has text that can't be a name changes nothing: the last baseline stays, the file
// is looked at again, and one record of level WARN says what is wrong. Problems that only one
// look finds are not reported, except by WatchFile itself. To switch everything off, write
// -all.
//
// The baseline's Who is "file", and its Why the path. A baseline that is set in another way
// stays until the content of the file changes.
//
// WatchFile returns after the first look, and within about five seconds if the file system
// does not answer. A file that does not count is no error. The error is an [*Error] for
// [ErrOption] if path is empty or an option is bad, for [ErrClosed] or [ErrNilController], or
// the operating system's if it does not know the current directory.
func (c *Controller) WatchFile(path string, opts ...WatchOption) (*FileWatch, error) {
	fail := func(reason error, what string) (*FileWatch, error) {
		return nil, &Error{Op: "watch", Input: path, Err: because(reason, "%s", what)}
	}
	if c.usable() != nil {
		return fail(ErrNilController, "make one with control.New")
	}
	if path == "" {
		return fail(ErrOption, "the path is empty; name the file to watch")
	}
	o := watchOptions{interval: defaultInterval, patience: defaultPatience}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	if o.interval <= 0 {
		return fail(ErrOption, "Interval("+o.interval.String()+"); more than 0")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	w := &FileWatch{
		c: c, path: path, options: o,
		reloads: make(chan chan<- error),
		stopped: make(chan struct{}),
		reads:   make(chan content, 1),
	}
	if err := w.permit(); err != nil {
		return nil, err
	}
	if _ = w.look(); w.seen.err != nil {
		w.report(w.seen.err.Error())
	}
	go w.run()
	return w, nil
}

// Reload looks at the file now, rather than at the next interval. It returns nil if the spec of
// the file counts, or will count when a second look finds the same, because the file does not
// end in a line end. (A second Reload is such a look.)
//
// Otherwise nothing has changed, and the error is an [*Error]: for [ErrFile] if the file does
// not count, for [ErrClosed] if the watch or the controller is closed. An error for ErrFile is
// also one for [ErrSpec] if the file has text that can't be a name, or for the operating
// system's error, such as [fs.ErrNotExist], if the file can't be read. Reload waits at most five
// seconds for a file system that does not answer.
func (w *FileWatch) Reload() error {
	if w == nil || w.c == nil {
		return &Error{Op: "watch", Err: because(ErrClosed, "get a watch from WatchFile")}
	}
	late := time.NewTimer(w.options.patience)
	defer late.Stop()
	answer := make(chan error, 1)
	reloads := w.reloads
	for {
		select {
		case reloads <- answer:
			reloads = nil // and wait for the answer
		case err := <-answer:
			return err
		case <-w.stopped:
			return w.permit()
		case <-w.c.done:
			return w.permit()
		case <-late.C:
			return w.refuse(because(ErrFile, "%w", errLate))
		}
	}
}

// Close stops watching; the baseline stays. Nothing that the file holds counts once Close has
// returned. It waits for neither the file system nor the logger. To close again does nothing.
func (w *FileWatch) Close() error {
	if w == nil || w.c == nil {
		return nil
	}
	w.stop.Do(func() {
		// Under the update lock, so no change is in flight.
		_ = w.c.update(author{}, func(time.Time) (cause, error) { close(w.stopped); return cause{}, errNothing })
		select {
		case <-w.stopped:
		default: // the controller is closed
			close(w.stopped)
		}
	})
	return nil
}

// permit returns an error if the watch or the controller is closed.
func (w *FileWatch) permit() error {
	select {
	case <-w.stopped:
		return w.refuse(because(ErrClosed, "call WatchFile again"))
	case <-w.c.done:
		return w.refuse(because(ErrClosed, "make another controller"))
	default:
		return nil
	}
}

func (w *FileWatch) refuse(err error) error { return &Error{Op: "watch", Input: w.path, Err: err} }

// run looks at the file until the watch or the controller is closed.
func (w *FileWatch) run() {
	tick := time.NewTicker(w.options.interval)
	defer tick.Stop()
	for {
		select {
		case <-w.stopped:
			return
		case <-w.c.done:
			return
		case <-tick.C:
			_ = w.look()
		case answer := <-w.reloads:
			answer <- w.look()
		}
	}
}

// look reads the file, makes its spec the baseline if it counts, and returns why it does not.
func (w *FileWatch) look() error {
	now := w.read()
	if err := w.permit(); err != nil {
		return err
	}
	again := now.equal(w.seen)
	w.seen = now
	if now.err != nil {
		if again {
			w.report(now.err.Error())
		}
		return w.refuse(because(ErrFile, "%w", now.err))
	}
	if !now.whole && !again {
		return nil
	}
	w.said = ""
	if w.spec != nil && *w.spec == now.spec {
		return nil
	}
	if err := w.c.configure(Baseline{Spec: now.spec, Who: "file", Why: w.shownPath()}, w.permit); err != nil {
		return err
	}
	w.spec = &now.spec
	return nil
}

// errLate is a file system that does not answer, as may happen over a network.
var errLate = errors.New("the file system does not answer")

// read returns what is in the file now, or errLate if the file system does not answer within
// patience. The goroutine that reads goes on waiting then; no other is started before it ends.
func (w *FileWatch) read() content {
	late := time.NewTimer(w.options.patience)
	defer late.Stop()
	for {
		fresh := !w.reading
		if fresh {
			w.reading = true
			go func() { w.reads <- readFile(w.path) }()
		}
		select {
		case c := <-w.reads:
			w.reading = false
			if fresh { // otherwise it is the read of an earlier look that gave up
				return c
			}
		case <-late.C:
			return content{err: errLate}
		case <-w.stopped:
			return content{}
		case <-w.c.done:
			return content{}
		}
	}
}

// shownPath returns the path as a reason, which must be short and one line.
func (w *FileWatch) shownPath() string {
	if len(w.path) <= MaxWhyLen && line(w.path) {
		return w.path
	}
	return spec.Head(strconv.QuoteToASCII(w.path))
}

// report logs the problem unless it was the last one.
func (w *FileWatch) report(problem string) {
	if problem == w.said {
		return
	}
	w.said = problem
	w.c.warn(time.Now(), "spangate: the watched file does not count, so the last baseline stays in force",
		slog.String("file", w.path), slog.String("problem", problem))
}
