//go:build !unix

package pluginsdk

func sizeLimit() int64 { return 0 }
