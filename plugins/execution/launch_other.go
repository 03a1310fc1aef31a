//go:build !unix

package main

import "errors"

func (launchOrder) become(string, []string, []string) error {
	return errors.New("launching a program: this system has no limits to set")
}
