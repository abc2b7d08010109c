// SPDX-License-Identifier: Apache-2.0

// Package page is what a browser gets from the endpoint of package control.
//
// The page is index.html, a template over [wire.State], so that it says everything without a
// script. What it loads lies in the directory files, which the endpoint serves as page/NAME
// below where it is mounted: links are relative, as in page/page.css. The endpoint's policy
// lets the page load from there alone, send requests and forms to the endpoint alone, and run
// no script or style that stands in the page itself.
//
// With its script the page follows what changes and can change it. Whatever people and
// programs call things becomes text and never markup: here by [html/template], there by
// text nodes alone. A token stays in the field that it is typed into; the browser is asked to
// store nothing. The page is tested, in a real browser, in the module below it.
package page

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/spangate/spangate/control/wire"
)

//go:embed index.html
var index string

//go:embed files
var embedded embed.FS

// Files has the files that the page loads, by name.
var Files = must(fs.Sub(embedded, "files"))

var tmpl = must(template.New("index.html").Funcs(words).Parse(index))

// Page is the page of one generation of the state. Get one from [New]. Any number of goroutines
// may write it at once.
type Page struct{ view view }

// New returns the page that shows s. The caller must not change what s holds afterwards.
func New(s wire.State) *Page { return &Page{newView(s)} }

// Write writes the page as it is at now. writable says whether the endpoint has an authoriser;
// left returns how long s.Leases[lease] still has. Write costs time in proportion to what the
// page shows. The error is w's, or the template's; in the latter case nothing is written.
func (p *Page) Write(w io.Writer, now time.Time, writable bool, left func(lease int) time.Duration) error {
	v := p.view
	v.Now, v.Writable, v.left = now, writable, left
	var b bytes.Buffer
	if err := tmpl.Execute(&b, v); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// ContentType returns the media type of one of [Files]. Package mime asks the machine, which
// may say text/plain of a script: no browser runs that from an endpoint that forbids sniffing.
func ContentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
