// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"path"
	"strings"

	"github.com/spangate/spangate/control/internal/page"
	"github.com/spangate/spangate/control/wire"
)

// HandlerOption is an option of [Handler]. A nil one has no effect.
type HandlerOption func(*handler)

// Authorize sets the authoriser of requests that would change something. Without it, or with a
// nil one, all such requests are refused.
func Authorize(a Authorizer) HandlerOption { return func(h *handler) { h.authorize = a } }

// CrossOrigin replaces the [http.CrossOriginProtection] that refuses changes that a browser
// sends for another site; p may trust some sites. A nil p has no effect.
func CrossOrigin(p *http.CrossOriginProtection) HandlerOption {
	return func(h *handler) { h.crossOrigin = cmp.Or(p, h.crossOrigin) }
}

// Handler returns the endpoint of c, to be mounted anywhere; the doc of this package has its
// routes and package wire their shapes. Mount it with a slash at the end, since its routes
// lie below, and strip what is above:
//
//	mux.Handle("/spans/", http.StripPrefix("/spans", control.Handler(c, …)))
//
// Who can reach it can read it. Only requests that the [Authorizer] lets pass can change
// anything. The answer to a GET is built once for each generation and shared by all who ask
// for it. A handler of a nil controller answers every request with 503.
func Handler(c *Controller, opts ...HandlerOption) http.Handler {
	h := &handler{c: c, crossOrigin: http.NewCrossOriginProtection()}
	for _, opt := range opts {
		if opt != nil {
			opt(h)
		}
	}
	return h
}

// handler is what [Handler] returns.
type handler struct {
	c           *Controller
	authorize   Authorizer
	crossOrigin *http.CrossOriginProtection
	snapshots   snapshots
}

// ServeHTTP does not route by a [http.ServeMux], which redirects a path that is not clean with
// a text that is no JSON, and puts the values of a path into the request: the authoriser gets
// the request as it came.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if h.c == nil || h.c.view.Load() == nil {
		refuse(w, http.StatusServiceUnavailable, wire.Error{Code: wire.CodeUnavailable, Message: "this endpoint has no controller; pass what control.New returns to control.Handler"})
		return
	}
	dir, name := path.Split(r.URL.Path)
	switch {
	case r.URL.Path == "" && r.Method == http.MethodGet && prefersHTML(r.Header):
		// The links of the page lie below it, which a browser sees by the slash.
		mounted, _, _ := strings.Cut(r.RequestURI, "?")
		w.Header().Set("Location", "./"+path.Base(mounted)+"/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case r.URL.Path == "" || r.URL.Path == "/":
		resource{
			http.MethodGet:    h.show,
			http.MethodPut:    h.changing(h.putBaseline),
			http.MethodDelete: h.changing(h.deleteBaseline),
		}.ServeHTTP(w, r)
	case r.URL.Path == "/leases":
		resource{http.MethodPost: h.changing(h.postLease)}.ServeHTTP(w, r)
	case dir == "/leases/" && name != "":
		resource{
			http.MethodPatch:  h.changing(h.patchLease),
			http.MethodDelete: h.changing(h.deleteLease),
		}.ServeHTTP(w, r)
	case dir == "/page/" && name != "":
		resource{http.MethodGet: file}.ServeHTTP(w, r)
	default:
		notFound(w, r)
	}
}

// resource has the handlers of a path, by method. HEAD is GET: the server leaves the body out.
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

// show answers with the state: a page for a client that prefers one, JSON otherwise.
func (h *handler) show(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if prefersHTML(r.Header) {
		h.answerPage(w, r)
		return
	}
	// Roots may come to be seen within a generation; while there are some, the answer is whole.
	v := h.c.view.Load()
	if tag := quote(h.c.tag(v.state.Generation())); matches(r.Header["If-None-Match"], tag, weakly) && len(h.c.roots(v)) == 0 {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.answerState(w)
}

// file answers with a file that the page loads.
func file(w http.ResponseWriter, r *http.Request) {
	content, contentType, err := page.File(path.Base(r.URL.Path))
	if err != nil {
		notFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(content)
}

// changing returns a handler that calls do if the request may make changes, and answers with
// the error if it may not or if do fails.
func (h *handler) changing(do func(http.ResponseWriter, *http.Request, author) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := h.admit(r)
		if err == nil {
			if tags := r.Header["If-Match"]; tags != nil {
				by.match = func(generation string) bool { return matches(tags, quote(generation), strongly) }
			}
			err = do(w, r, by)
		}
		if err != nil {
			h.fail(w, r, by, err)
		}
	}
}

// admit returns the author of a change, or the error if the request may not make one.
func (h *handler) admit(r *http.Request) (author, error) {
	if h.authorize == nil {
		return author{}, forbidden(wire.CodeForbidden, "this endpoint changes nothing: the program has given it no authoriser; pass control.Authorize to control.Handler, as with control.BearerToken")
	}
	if err := h.crossOrigin.Check(r); err != nil {
		return author{}, forbidden(wire.CodeCrossOrigin, "a browser sent this for another site: "+err.Error()+"; pass control.CrossOrigin to control.Handler to trust that site")
	}
	who, err := h.authorize(r)
	var missing *Unauthorized
	switch {
	case errors.As(err, &missing):
		return author{}, &badRequest{http.StatusUnauthorized, wire.Error{Code: wire.CodeUnauthorized, Message: "the authoriser refuses: " + err.Error()}, missing.challenge()}
	case err != nil:
		return author{}, forbidden(wire.CodeForbidden, "the authoriser refuses: "+err.Error())
	}
	if err := checkNames(who, ""); err != nil {
		return author{}, forbidden(wire.CodeForbidden, "the authoriser gives a name that the change log can't show: "+err.Error())
	}
	return author{who: who}, nil
}

func forbidden(code, message string) error {
	return &badRequest{status: http.StatusForbidden, body: wire.Error{Code: code, Message: message}}
}

func (h *handler) putBaseline(w http.ResponseWriter, r *http.Request, by author) error {
	in, err := decode(r, routeBaseline)
	if err != nil {
		return err
	}
	b := Baseline{Spec: in.required("spec"), AllowPending: in.truth("allow_pending"), Who: in.text("who"), Why: in.text("why")}
	if err := in.done(); err != nil {
		return err
	}
	b.Who = cmp.Or(by.who, b.Who, from(r))
	if err := h.c.setBaseline(by, b, in.listed); err != nil {
		return err
	}
	h.answerState(w)
	return nil
}

func (h *handler) deleteBaseline(w http.ResponseWriter, r *http.Request, by author) error {
	by.who = cmp.Or(by.who, from(r))
	if err := h.c.resetBaseline(by, ""); err != nil {
		return err
	}
	h.answerState(w)
	return nil
}

func (h *handler) postLease(w http.ResponseWriter, r *http.Request, by author) error {
	in, err := decode(r, routeLease)
	if err != nil {
		return err
	}
	req := LeaseRequest{
		Quiet: in.text("quiet"), Owner: cmp.Or(in.text("owner"), by.who), TTL: in.duration("ttl"),
		Why: in.text("why"), AllowPending: in.truth("allow_pending"),
	}
	if in.has("quiet") {
		req.Spec = in.text("spec")
	} else {
		req.Spec = in.required("spec")
	}
	if err := in.done(); err != nil {
		return err
	}
	l, err := h.c.grant(by, req)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "leases/"+l.id)
	h.answerLease(w, http.StatusCreated, l)
	return nil
}

func (h *handler) patchLease(w http.ResponseWriter, r *http.Request, by author) error {
	in, err := decode(r, routePatch)
	if err != nil {
		return err
	}
	ttl := in.duration("ttl")
	if err := in.done(); err != nil {
		return err
	}
	by.who = cmp.Or(by.who, from(r))
	l, err := h.c.renew(by, path.Base(r.URL.Path), ttl)
	if err != nil {
		return err
	}
	h.answerLease(w, http.StatusOK, l)
	return nil
}

func (h *handler) deleteLease(w http.ResponseWriter, r *http.Request, by author) error {
	by.who = cmp.Or(by.who, from(r))
	l, err := h.c.release(by, path.Base(r.URL.Path))
	if err != nil {
		return err
	}
	h.answerLease(w, http.StatusOK, l)
	return nil
}

// from returns the address that a request comes from, for a request with no other name of its
// author. It is empty if the change log can't show it, which may be so for an address that a
// middleware has set.
func from(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if checkNames(host, "") != nil {
		return ""
	}
	return host
}
