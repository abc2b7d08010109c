// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/spangate/spangate/control/page"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// HandlerOption is an option of [Handler].
type HandlerOption func(*handler)

// Authorize has a decide about requests that would change something. Without it, all of
// them are refused.
func Authorize(a Authorizer) HandlerOption { return func(h *handler) { h.authorize = a } }

// Prefix says under which path the handler is mounted, as in /debug/spans, where
// [http.StripPrefix] does not take it away.
func Prefix(path string) HandlerOption {
	return func(h *handler) { h.prefix = strings.TrimRight(path, "/") }
}

// CrossOrigin puts p in place of the [http.CrossOriginProtection] that lets no browser
// change anything for another site; p may trust some.
func CrossOrigin(p *http.CrossOriginProtection) HandlerOption {
	return func(h *handler) { h.crossOrigin = cmp.Or(p, h.crossOrigin) }
}

// Handler returns the endpoint of c, to be mounted anywhere; the doc of this package has its
// routes and package wire their shapes. Mount it with a slash at the end, since its routes
// lie below:
//
//	mux.Handle("/spans/", http.StripPrefix("/spans", control.Handler(c, …)))
//
// Who can reach it can read it. Only whom the [Authorizer] lets pass can change anything.
func Handler(c *Controller, opts ...HandlerOption) http.Handler {
	h := &handler{c: c, crossOrigin: http.NewCrossOriginProtection()}
	for _, opt := range opts {
		opt(h)
	}
	h.routes.Handle("/{$}", resource{
		http.MethodGet:    h.show,
		http.MethodPut:    h.changing(h.putBaseline),
		http.MethodDelete: h.changing(h.deleteBaseline),
	})
	h.routes.Handle("/leases", resource{
		http.MethodPost: h.changing(h.postLease),
	})
	h.routes.Handle("/leases/{id}", resource{
		http.MethodPatch:  h.changing(h.patchLease),
		http.MethodDelete: h.changing(h.deleteLease),
	})
	h.routes.Handle("/page/{file}", resource{
		http.MethodGet: h.file,
	})
	h.routes.HandleFunc("/", notFound)
	return h
}

// handler is what [Handler] returns.
type handler struct {
	c           *Controller
	authorize   Authorizer
	prefix      string
	crossOrigin *http.CrossOriginProtection
	routes      http.ServeMux
}

// ServeHTTP hands the request to the route of its path below the prefix. The mux would
// redirect what is not a clean path, in a text that is no JSON, so it never sees one.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	below, ok := strings.CutPrefix(r.URL.Path, h.prefix)
	if ok && below == "" && prefersHTML(r.Header) && r.Method == http.MethodGet {
		// The links of the page lie below it, which a browser sees by the slash.
		mounted, _, _ := strings.Cut(r.RequestURI, "?")
		w.Header().Set("Location", "./"+path.Base(mounted)+"/")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	to := url.URL{Path: cmp.Or(below, "/")}
	if clean := path.Clean("/" + to.Path); !ok || clean != to.Path {
		notFound(w, r)
		return
	}
	routed := r.WithContext(r.Context())
	routed.URL, routed.RequestURI = &to, to.Path
	h.routes.ServeHTTP(w, routed)
}

// resource is what a path does, by method. HEAD is GET: the server leaves the body out.
type resource map[string]http.HandlerFunc

func (res resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if do, ok := res[method]; ok {
		do(w, r)
		return
	}
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if _, ok := res[strings.Replace(method, http.MethodHead, http.MethodGet, 1)]; ok {
			allow = append(allow, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	refuse(w, http.StatusMethodNotAllowed, wire.Error{Code: wire.CodeMethod, Message: "this path takes " + strings.Join(allow, ", ")})
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	refuse(w, http.StatusNotFound, wire.Error{Code: wire.CodeNotFound, Message: "there is no such path; there are /, /leases and /leases/{id}, below where the endpoint is mounted"})
}

// show answers with the state: a page for who prefers one, JSON otherwise.
func (h *handler) show(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if prefersHTML(r.Header) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = page.Write(w, h.state()) // who went away needs no answer
		return
	}
	if tag := quote(h.c.generation()); matches(r.Header["If-None-Match"], tag, weakly) {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_ = h.answerState(w)
}

// file answers with a file that the page loads.
func (h *handler) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	content, err := fs.ReadFile(page.Files, name)
	if err != nil {
		notFound(w, r)
		return
	}
	w.Header().Set("Content-Type", page.ContentType(name))
	_, _ = w.Write(content)
}

func (h *handler) state() State {
	s := h.c.State()
	s.Writable = h.authorize != nil
	return s
}

// changing returns a handler that lets do change something if the request may, and answers
// for it if it fails.
func (h *handler) changing(do func(http.ResponseWriter, *http.Request, author) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.authorize == nil {
			refuse(w, http.StatusForbidden, wire.Error{Code: wire.CodeForbidden, Message: "this endpoint changes nothing: the program has given it no authoriser; pass control.Authorize to control.Handler, as with control.BearerToken"})
			return
		}
		if err := h.crossOrigin.Check(r); err != nil {
			refuse(w, http.StatusForbidden, wire.Error{Code: wire.CodeCrossOrigin, Message: "a browser sent this for another site: " + err.Error() + "; pass control.CrossOrigin to control.Handler to trust that site"})
			return
		}
		by := author{}
		who, err := h.authorize(r)
		if err != nil {
			refuse(w, http.StatusForbidden, wire.Error{Code: wire.CodeForbidden, Message: "the authoriser refuses: " + err.Error()})
			return
		}
		if err := checkNames(who, ""); err != nil {
			refuse(w, http.StatusForbidden, wire.Error{Code: wire.CodeForbidden, Message: "the authoriser gives a name that the change log can't show: " + err.Error()})
			return
		}
		by.who = who
		if tags := r.Header["If-Match"]; tags != nil {
			by.match = func(generation string) bool { return matches(tags, quote(generation), strongly) }
		}
		if err := do(w, r, by); err != nil {
			h.fail(w, err)
		}
	}
}

func (h *handler) putBaseline(w http.ResponseWriter, r *http.Request, by author) error {
	in, err := decode(w, r)
	if err != nil {
		return err
	}
	b := Baseline{Spec: in.required("spec"), AllowPending: in.truth("allow_pending"), Who: in.text("who"), Why: in.text("why")}
	if err := in.err; err != nil {
		return err
	}
	b.Who = cmp.Or(by.who, b.Who, from(r))
	if err := h.c.setBaseline(by, b); err != nil {
		return err
	}
	return h.answerState(w)
}

func (h *handler) deleteBaseline(w http.ResponseWriter, r *http.Request, by author) error {
	by.who = cmp.Or(by.who, from(r))
	if err := h.c.resetBaseline(by, ""); err != nil {
		return err
	}
	return h.answerState(w)
}

func (h *handler) postLease(w http.ResponseWriter, r *http.Request, by author) error {
	in, err := decode(w, r, "spec", "owner", "ttl", "why", "allow_pending")
	if err != nil {
		return err
	}
	req := LeaseRequest{
		Spec: in.required("spec"), Owner: cmp.Or(in.text("owner"), by.who), TTL: in.duration("ttl"),
		Why: in.text("why"), AllowPending: in.truth("allow_pending"),
	}
	if err := in.err; err != nil {
		return err
	}
	l, err := h.c.grant(by, req)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "leases/"+l.id)
	return h.answerLease(w, http.StatusCreated, l)
}

func (h *handler) patchLease(w http.ResponseWriter, r *http.Request, by author) error {
	in, err := decode(w, r, "ttl")
	if err != nil {
		return err
	}
	ttl := in.duration("ttl")
	if err := in.err; err != nil {
		return err
	}
	by.who = cmp.Or(by.who, from(r))
	l, err := h.c.renew(by, r.PathValue("id"), ttl)
	if err != nil {
		return err
	}
	return h.answerLease(w, http.StatusOK, l)
}

func (h *handler) deleteLease(w http.ResponseWriter, r *http.Request, by author) error {
	by.who = cmp.Or(by.who, from(r))
	l, err := h.c.release(by, r.PathValue("id"))
	if err != nil {
		return err
	}
	return h.answerLease(w, http.StatusOK, l)
}

func (h *handler) answerState(w http.ResponseWriter) error {
	state := h.state()
	w.Header().Set("ETag", quote(state.Generation))
	answer(w, http.StatusOK, state)
	return nil
}

// answerLease shows a lease, which may have ended since.
func (h *handler) answerLease(w http.ResponseWriter, status int, l *lease) error {
	v := h.c.view.Load()
	w.Header().Set("ETag", quote(h.c.tag(v.state.Generation())))
	answer(w, status, newSelector(v).lease(l, time.Now()))
	return nil
}

// from returns where a request comes from: who asks, if nobody says.
func from(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return spec.Head(r.RemoteAddr)
	}
	return spec.Head(host)
}
