// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spangate/spangate/internal/spec"
)

const (
	defaultInterval    = time.Second
	defaultReadTimeout = 5 * time.Second // how long Reload waits for the file system
)

// WatchOption is an option of [Controller.WatchFile]. A nil one has no effect.
type WatchOption func(*watchOptions)

type watchOptions struct{ interval, readTimeout time.Duration }

// Interval sets the time between two reads of the file, which is one second without it. It must
// be more than 0.
func Interval(d time.Duration) WatchOption { return func(o *watchOptions) { o.interval = d } }

// FileWatch is a file whose content is the baseline of a [Controller]. Get one from
// [Controller.WatchFile]. Its methods may be called from any goroutine, and by callbacks. On nil
// or the zero value, Reload returns [ErrClosed] and Close does nothing.
type FileWatch struct {
	watchOptions
	c    *Controller
	path string
	ctx  context.Context // done once the watch or the controller is closed; its cause says which
	stop context.CancelCauseFunc
	sem  chan struct{} // full while the file is read: one read at a time

	mu    sync.Mutex
	last  *reading // nil before the first
	spec  string   // the last that took effect, "" if none has
	state *File    // what State has, nil before the first
}

// WatchFile makes the content of the file the baseline, as [Controller.Configure] does, now
// and whenever it changes. The file is read once a second, or as [Interval] says, and whenever
// [FileWatch.Reload] is called. It is found by its path each time, so links, mounts, network
// file systems, recreated directories and the ..data of a Kubernetes ConfigMap need no
// care. A relative path is one of the current directory.
//
// The file holds one spec of at most [spangate.MaxSpecLen] bytes, which may be spread over
// lines that end in a comma. A byte order mark, space around a name and line ends of any kind
// do no harm.
//
// A file that ends in a newline (\n) takes effect at once. Any other takes effect when two reads in
// a row find the same, so that a file that is being written does not. To be safe, rename a
// whole file over the old one, or end the file with a newline.
//
// A file that can't be read, is no regular file, is blank, too long, not UTF-8, ends in a
// comma, or has text that can't be a name changes nothing: the last baseline stays, the file
// is read again, and [State] and one record of level WARN say what is wrong. A problem that only one read
// finds is not reported, unless it is the first read. To switch everything off, write -all.
//
// The baseline's Who is "file", and its Why the path. A baseline that is set in another way
// stays until the content of the file changes.
//
// WatchFile returns after the first read, and within about five seconds if the file system
// does not answer. A file that can't be used is no error. The error is an [*Error] if path is
// empty or an option is bad, or for [ErrClosed]; or the operating system's if it does not know the
// current directory.
func (c *Controller) WatchFile(path string, opts ...WatchOption) (*FileWatch, error) {
	fail := func(err error) (*FileWatch, error) { return nil, &Error{Op: "watch", Input: path, Err: err} }
	if c.usable() != nil {
		return fail(because(ErrClosed, "make one with control.New"))
	}
	if path == "" {
		return fail(errors.New("the path is empty; name the file to watch"))
	}
	o := watchOptions{interval: defaultInterval, readTimeout: defaultReadTimeout}
	apply(&o, opts)
	if o.interval <= 0 {
		return fail(errors.New("Interval(" + o.interval.String() + "); more than 0"))
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	w := &FileWatch{watchOptions: o, c: c, path: path, sem: make(chan struct{}, 1)}
	w.ctx, w.stop = context.WithCancelCause(c.closed)
	if err := w.closed(); err != nil {
		return nil, err
	}
	_ = w.Reload()
	go w.poll()
	return w, nil
}

// poll reads the file once per interval until the watch or the controller is closed.
func (w *FileWatch) poll() {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for w.ctx.Err() == nil {
		select {
		case <-tick.C:
			_ = w.Reload()
		case <-w.ctx.Done():
		}
	}
}

// errUnresponsive is a file system that does not answer, as may happen over a network.
var errUnresponsive = errors.New("the file system does not answer")

// Reload reads the file now, rather than at the next interval. It returns nil if the spec of
// the file is in effect, or will be once a second read, which another Reload is, finds the same.
//
// Otherwise nothing has changed, and the error is an [*Error]. It unwraps to [ErrClosed] if the
// watch or the controller is closed, to [ErrSpec] if the file has text that can't be a name, and
// to the operating system's error, such as [fs.ErrNotExist], if the file can't be read. Reload
// waits at most five seconds for a file system that does not answer.
func (w *FileWatch) Reload() error {
	if w == nil || w.c == nil {
		return &Error{Op: "watch", Err: because(ErrClosed, "get a watch from WatchFile")}
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.readTimeout)
	defer cancel()
	sem, result := w.sem, make(chan error, 1)
	for {
		select {
		case sem <- struct{}{}:
			sem = nil
			go func() { // outlives Reload if the file system does not answer
				err := w.apply(readFile(w.path))
				<-w.sem
				result <- err
			}()
		case err := <-result:
			return err
		case <-ctx.Done():
			return w.apply(reading{err: errUnresponsive}) // or the error of a closed watch
		}
	}
}

// apply makes the spec that was read the baseline if it takes effect, or returns why it does
// not.
func (w *FileWatch) apply(now reading) error {
	w.mu.Lock() // also keeps Close from returning before the change is made
	defer w.mu.Unlock()
	if err := w.closed(); err != nil {
		return err
	}
	first, again := w.last == nil, w.last != nil && *w.last == now
	w.last = &now
	text, err := now.spec()
	if err != nil {
		if first || again {
			w.report(err.Error())
		}
		return w.refuse(err)
	}
	if !again && !strings.HasSuffix(now.text, "\n") {
		return nil
	}
	w.report("")
	if text == w.spec {
		return nil
	}
	if err := w.c.Configure(Baseline{Spec: text, Who: "file", Why: w.reason()}); err != nil {
		return err
	}
	w.spec = text
	return nil
}

// Close stops watching; the baseline stays. The file changes nothing any more once Close has
// returned. Close waits for neither the file system nor the logger. To close again does nothing.
func (w *FileWatch) Close() error {
	if w != nil && w.c != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.closed() == nil { // the State of a closed controller stays
			w.c.file.CompareAndSwap(w.state, nil)
		}
		w.stop(because(ErrClosed, "call WatchFile again"))
	}
	return nil
}

// closed returns an error if the watch or the controller is closed.
func (w *FileWatch) closed() error {
	if err := context.Cause(w.ctx); err != nil {
		return w.refuse(err)
	}
	return nil
}

func (w *FileWatch) refuse(err error) error { return &Error{Op: "watch", Input: w.path, Err: err} }

// reason returns the path as the Why of a baseline, which must be short and one line.
func (w *FileWatch) reason() string {
	if checkAuthor("who", "", w.path) == nil {
		return w.path
	}
	return spec.Head(strconv.QuoteToASCII(w.path))
}

// report makes the problem, "" if there is none, the one that State has, and logs one that is new.
func (w *FileWatch) report(problem string) {
	if w.state != nil && problem == w.state.Problem {
		return
	}
	w.state = &File{w.path, problem}
	w.c.file.Store(w.state)
	if problem != "" {
		w.c.warn(time.Now(), "spangate: the watched file can't be used, so the last baseline stays in force",
			slog.String("file", w.path), slog.String("problem", problem))
	}
}
