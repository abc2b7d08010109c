// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ParseURL reads where the endpoint of a process is mounted, as a person writes it:
//
//	http://localhost:8080/spans/    the endpoint
//	http://localhost:8080/spans     the same
//	localhost:8080/spans            the same: http is what there is on a machine's own network
//	https://[2001:db8::1]/a/spans   below a prefix of a proxy
//
// A name and password, a query or a fragment is an error, since requests would not carry it
// or messages would repeat it.
func ParseURL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err // without the URL, which may hold a password
	}
	switch {
	case err != nil:
	case u.User != nil:
		err = errors.New("it has a user in it; say who you are by a token: SPANGATE_TOKEN or --token-file")
	case u.Scheme != "http" && u.Scheme != "https":
		err = fmt.Errorf("the scheme %q is not http or https", u.Scheme)
	case u.Hostname() == "":
		err = errors.New("it names no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		err = errors.New("it has a query or fragment; give the path under which the endpoint is mounted")
	}
	if err != nil {
		return nil, fmt.Errorf("bad URL: %w; write it as in http://localhost:8080/spans/", err)
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	if u.RawPath != "" {
		u.RawPath = strings.TrimRight(u.RawPath, "/") + "/"
	}
	return u, nil
}
