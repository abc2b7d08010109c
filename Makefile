# SPDX-License-Identifier: Apache-2.0

.PHONY: test lint fuzz bench cover ci

test:  ; go test work
lint:  ; bash .ci/run lint
fuzz:  ; bash .ci/run fuzz
bench: ; go test -run '^$$' -bench . -count 6 .
cover: ; go test -coverpkg ./... -coverprofile cover.out ./... && go tool cover -func cover.out
ci:    ; bash .ci/run
