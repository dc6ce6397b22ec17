// Package oci tests packages in OCI registries from outside: the command line,
// with real Git over HTTP for what is written, and two real registries (the one
// in process and Debian's docker-registry) behind a proxy that counts requests,
// asks for a login, and fails or lies on order.
//
//	go test ./test/oci -run 'TestScripts/process/fanout'
package oci
