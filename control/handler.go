// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/spangate/spangate/control/internal/page"
	"github.com/spangate/spangate/control/wire"
)

// HandlerOption is an option of [Handler]. A nil one has no effect.
type HandlerOption func(*handler)

// Authorize sets the authoriser of requests that would change something. Without it, or with a
// nil one, all such requests are refused with 403.
func Authorize(a Authorizer) HandlerOption { return func(h *handler) { h.authorize = a } }

// CrossOrigin replaces the [http.CrossOriginProtection] that refuses changes that a browser
// sends for another site; p may trust some sites. A nil p has no effect.
func CrossOrigin(p *http.CrossOriginProtection) HandlerOption {
	return func(h *handler) { h.crossOrigin = cmp.Or(p, h.crossOrigin) }
}

// Handler returns the endpoint of c, to be mounted anywhere; package wire has its routes and
// their shapes. Mount it at a path that ends in a slash, and strip that prefix:
//
//	mux.Handle("/spans/", http.StripPrefix("/spans", control.Handler(c, …)))
//
// Any client that can reach it can read it. A change that a browser sends for another site is
// refused with 403. The answer to a GET is built once after each change of the state, and with [Scopes]
// also for new counts, at most once a second. All clients share it. The handler of a nil controller
// answers every request with 503.
func Handler(c *Controller, opts ...HandlerOption) http.Handler {
	h := &handler{c: c, crossOrigin: http.NewCrossOriginProtection()}
	apply(h, opts)
	return h
}

type handler struct {
	c           *Controller
	authorize   Authorizer
	crossOrigin *http.CrossOriginProtection
	snapshots   snapshots
}

// methods has the methods of each route, as in the header Allow. HEAD is served as GET: net/http
// leaves the body out.
var methods = map[string]string{
	"/": "GET, HEAD, PUT, DELETE", "/leases": "POST", "/leases/{id}": "PATCH, DELETE", "/page/{file}": "GET, HEAD",
}

// changeFunc makes the change of a request. It returns the lease to answer with, or nil to answer
// with the state.
type changeFunc func(*Controller, *http.Request, author) (*lease, error)

// changes has the change that each method and route makes.
var changes = map[string]changeFunc{
	"PUT /":              putBaseline,
	"DELETE /":           func(c *Controller, _ *http.Request, by author) (*lease, error) { return nil, c.resetBaseline(by, "") },
	"POST /leases":       postLease,
	"PATCH /leases/{id}": patchLease,
	"DELETE /leases/{id}": func(c *Controller, r *http.Request, by author) (*lease, error) {
		return c.release(by, path.Base(r.URL.Path))
	},
}

// routeOf returns the key of methods for the path of a URL, or the path if there is none.
func routeOf(urlPath string) string {
	switch dir, name := path.Split(urlPath); {
	case urlPath == "":
		return "/"
	case dir == "/leases/" && name != "":
		return "/leases/{id}"
	case dir == "/page/" && name != "":
		return "/page/{file}"
	}
	return urlPath
}

// ServeHTTP does not route by a [http.ServeMux], which redirects a path that is not clean with
// a text that is no JSON, and puts the values of a path into the request: the authoriser gets
// the request as it came.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if h.c.usable() != nil {
		answer(w, http.StatusServiceUnavailable, wire.Error{Code: wire.CodeUnavailable, Message: "this endpoint has no controller; pass what control.New returns to control.Handler"})
		return
	}
	if r.URL.Path == "" && r.Method == http.MethodGet && prefersHTML(r.Header) {
		// The relative links of the page work only if its path ends in a slash.
		mounted, _, _ := strings.Cut(r.RequestURI, "?")
		w.Header().Set("Location", "./"+path.Base(mounted)+"/")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	route := routeOf(r.URL.Path)
	allow, known := methods[route]
	change := changes[r.Method+" "+route]
	switch {
	case !known:
		notFound(w)
	case !slices.Contains(strings.Split(allow, ", "), r.Method):
		w.Header().Set("Allow", allow)
		answer(w, http.StatusMethodNotAllowed, wire.Error{Code: wire.CodeMethod, Message: "this path takes " + allow})
	case change != nil:
		h.serveChange(w, r, change)
	case route == "/":
		h.serveState(w, r)
	default:
		h.serveFile(w, r)
	}
}

func notFound(w http.ResponseWriter) {
	answer(w, http.StatusNotFound, wire.Error{Code: wire.CodeNotFound, Message: "there is no such path; there are /, /leases and /leases/{id}, below where the endpoint is mounted"})
}

// serveState answers with the state: a page for a client that prefers one, JSON otherwise.
func (h *handler) serveState(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	switch s := h.snapshots.get(h.c); {
	case prefersHTML(r.Header):
		h.answerPage(w, r, s)
	case !s.hadRoots && s.sample == nil && s.file == nil && unchanged(r.Header, s.tag):
		w.Header().Set("ETag", s.tag)
		w.WriteHeader(http.StatusNotModified)
	default:
		h.answerState(w, s)
	}
}

// serveFile answers with a file that the page loads.
func (h *handler) serveFile(w http.ResponseWriter, r *http.Request) {
	content, contentType, err := page.File(path.Base(r.URL.Path))
	if err != nil {
		notFound(w)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(content)
}

// serveChange makes the change if the request may, and answers with what it changed.
func (h *handler) serveChange(w http.ResponseWriter, r *http.Request, change changeFunc) {
	var l *lease
	by, err := h.admit(r)
	if err == nil && r.Method == http.MethodDelete {
		err = noFields(r)
	}
	if err == nil {
		l, err = change(h.c, r, by)
	}
	switch {
	case err != nil:
		h.fail(w, r, by, err)
	case l == nil:
		h.answerState(w, h.snapshots.get(h.c))
	case r.Method == http.MethodPost && prefersHTML(r.Header): // the form of the page, without a script
		w.Header().Set("Location", "./")
		w.WriteHeader(http.StatusSeeOther)
	case r.Method == http.MethodPost:
		w.Header().Set("Location", "leases/"+l.id)
		h.answerLease(w, http.StatusCreated, l)
	default:
		h.answerLease(w, http.StatusOK, l)
	}
}

// admit returns the author of the change, or why the request may not make it.
func (h *handler) admit(r *http.Request) (author, error) {
	if h.authorize == nil {
		return author{}, forbidden(wire.CodeForbidden, "this endpoint changes nothing: the program has given it no authoriser; give setup.New a setup.Token, or control.Handler a control.Authorize, as with control.BearerToken")
	}
	if err := h.crossOrigin.Check(r); err != nil {
		return author{}, forbidden(wire.CodeCrossOrigin, "a browser sent this for another site: "+err.Error()+"; to trust that site, give setup.Handler or control.Handler a control.CrossOrigin")
	}
	who, err := h.authorize(r)
	var unauthorized *Unauthorized
	switch {
	case errors.As(err, &unauthorized):
		challenge := `Bearer realm="spangate"`
		if unauthorized != nil && unauthorized.Challenge != "" {
			challenge = unauthorized.Challenge
		}
		return author{}, &badRequest{http.StatusUnauthorized, wire.Error{Code: wire.CodeUnauthorized, Message: "the authoriser refuses: " + err.Error()}, challenge}
	case err != nil:
		return author{}, forbidden(wire.CodeForbidden, "the authoriser refuses: "+err.Error())
	}
	if err := checkAuthor("who", who, ""); err != nil {
		return author{}, forbidden(wire.CodeForbidden, "the authoriser gives a name that the change log can't show: "+err.Error())
	}
	return author{who, clientAddress(r), r.Header["If-Match"]}, nil
}

func forbidden(code, message string) error {
	return &badRequest{status: http.StatusForbidden, body: wire.Error{Code: code, Message: message}}
}

func putBaseline(c *Controller, r *http.Request, by author) (*lease, error) {
	in, listed, err := decode[wire.Baseline](r, putShape)
	if err != nil {
		return nil, err
	}
	return nil, c.setBaseline(by, Baseline(in), listed, false)
}

func postLease(c *Controller, r *http.Request, by author) (*lease, error) {
	in, _, err := decode[wire.LeaseRequest](r, postShape)
	if err != nil {
		return nil, err
	}
	ttl, err := parseTTL(in.TTL)
	if err != nil {
		return nil, err
	}
	return c.grant(by, LeaseRequest{
		Owner: cmp.Or(in.Owner, by.who), Spec: in.Spec, Quiet: in.Quiet, TTL: ttl, Why: in.Why, AllowPending: in.AllowPending,
	})
}

func patchLease(c *Controller, r *http.Request, by author) (*lease, error) {
	in, _, err := decode[wire.LeasePatch](r, patchShape)
	if err != nil {
		return nil, err
	}
	ttl, err := parseTTL(in.TTL)
	if err != nil {
		return nil, err
	}
	return c.renew(by, path.Base(r.URL.Path), ttl)
}

// clientAddress returns the address of the client, or "" if the change log can't show it, as may
// be if a middleware has set it.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if checkAuthor("who", host, "") != nil {
		return ""
	}
	return host
}
