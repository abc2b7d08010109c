// SPDX-License-Identifier: Apache-2.0

// Package page is what a browser gets from the endpoint of package control.
//
// The page is index.html, a template over [wire.State], so that it says everything without a
// script. What it loads lies in the directory files, which the endpoint serves as page/NAME
// below where it is mounted: links are relative, as in page/page.css. The endpoint's policy
// lets the page load from there alone, send requests and forms to the endpoint alone, and run
// no script or style that stands in the page itself.
package page

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"io/fs"

	"github.com/spangate/spangate/control/wire"
)

//go:embed index.html
var index string

//go:embed files
var embedded embed.FS

// Files has the files that the page loads, by name.
var Files = must(fs.Sub(embedded, "files"))

var tmpl = must(template.New("index.html").Parse(index))

// Write writes the page that shows s, or nothing if it can't be made.
func Write(w io.Writer, s wire.State) error {
	var b bytes.Buffer
	if err := tmpl.Execute(&b, s); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
