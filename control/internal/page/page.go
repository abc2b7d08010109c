// SPDX-License-Identifier: Apache-2.0

// Package page is what a browser gets from the endpoint of package control.
//
// The page is index.html, a template over [wire.State], which can be read without a script. What
// it loads is in the directory files, which the endpoint serves as page/NAME below where it is
// mounted; links are relative, so any prefix works.
//
// The script page.js fetches the page again while it is visible, takes over what differs, and
// sends changes. It has no texts of its own. A token stays in the field that it is typed into.
//
// Names, owners and reasons are text and never markup: [html/template] escapes them, and the script
// parses nothing but the endpoint's page. The endpoint's policy forbids scripts and styles in the
// page itself, and every other host. The tests with a browser are in internal/test/page.
package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"html/template"
	"io"
	"path"
	"time"

	"github.com/spangate/spangate/control/wire"
)

//go:embed index.html files
var embedded embed.FS

var tmpl = template.Must(template.New("index.html").Funcs(funcs).ParseFS(embedded, "index.html"))

// types has the media types of files by extension. The table of package mime depends on the
// machine, and a browser runs no script of another type.
var types = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// File returns a file that the page loads, and its media type.
func File(name string) (content []byte, contentType string, err error) {
	content, err = embedded.ReadFile("files/" + name)
	return content, types[path.Ext(name)], err
}

// refresh is how often [Page.Tag] changes while there are leases.
const refresh = 5 * time.Second

// Page is the page of one generation of the state; [New] makes one. Any number of goroutines may
// use it at once.
type Page struct {
	view     view
	checksum uint32 // of what can change within a generation
}

// New returns the page that shows s. The caller must not change what s holds afterwards.
func New(s wire.State) *Page {
	text, _ := json.Marshal([]any{s.File, s.Roots, s.Scopes, s.Unmatched}) // these types always encode
	return &Page{newView(s), crc32.ChecksumIEEE(text)}
}

// Tag returns the entity tag of the page as it is at now, for weak comparison: pages with the same
// tag differ only in Now and, for at most refresh, in their countdowns.
func (p *Page) Tag(now time.Time) string {
	var age int64
	if len(p.view.Leases) > 0 {
		age = now.UnixNano() / int64(refresh)
	}
	return fmt.Sprintf(`"%s.%x.%x"`, p.view.Generation, p.checksum, age)
}

// Write writes the page as it is at now. writable reports whether the endpoint has an authoriser;
// left returns how long s.Leases[lease] still has. Write costs time in proportion to what the
// page shows. It returns the error of w or of the template; in the latter case it writes nothing.
func (p *Page) Write(w io.Writer, now time.Time, writable bool, left func(lease int) time.Duration) error {
	v := p.view
	v.Now, v.Writable, v.left, v.Tag = now, writable, left, p.Tag(now)
	var b bytes.Buffer
	if err := tmpl.Execute(&b, v); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}
